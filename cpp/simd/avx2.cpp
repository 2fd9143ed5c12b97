#include "table.inc"
