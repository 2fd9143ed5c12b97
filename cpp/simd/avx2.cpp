#include "fill_table.inc"
