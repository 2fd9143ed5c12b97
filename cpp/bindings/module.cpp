// The module: the crew, the instruction sets, and the bindings of all kernels.

#include "common.hpp"

namespace partita::binding {

namespace {

double spin(std::int64_t rounds, bool single) {
    nb::gil_scoped_release release;
    float f[2] = {1e-3f, 1e-3f};
    double g[2] = {1e-3, 1e-3};
    return single ? table().single.spin(rounds, f) : table().full.spin(rounds, g);
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable* t : runnable_tables()) names.emplace_back(t->name);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (const KernelTable* t : runnable_tables())
        if (name == t->name) return active_table().store(t);
    throw std::invalid_argument("instruction set '" + name + "' is not available here");
}

}  // namespace

}  // namespace partita::binding

NB_MODULE(core, m) {
    using namespace partita::binding;
    nb::set_leak_warnings(false);  // what lives at the end of a process is no leak
    m.doc() =
        "The compiled kernels of partita; their NumPy twins are in `partita._kernels.reference`.";
    nb::class_<partita::Crew>(m, "Crew")
        .def(nb::init<std::size_t>(), "threads"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("dismiss", &partita::Crew::dismiss, nb::call_guard<nb::gil_scoped_release>());
    bind_data_survey(m);
    bind_equal_rows(m);
    bind_exact_sums(m);
    bind_assignment(m);
    bind_byte_tiles(m);
    bind_sparse_rows(m);
    bind_neighbour_passes(m);
    bind_panel_passes(m);
    bind_partial_pass(m);
    bind_pruned_passes(m);
    bind_seeding(m);
    bind_medoid_swaps(m);
    bind_split_layers(m);
    bind_pairwise(m);
    bind_gower(m);
    bind_mixed_costs(m);
    bind_gram_sums(m);
    bind_silhouette_sums(m);
    bind_local_search(m);
    bind_transport(m);
    m.def("spin", &spin, "rounds"_a, "single"_a);
    m.def("instruction_sets", &instruction_sets);
    m.def("instruction_set", [] { return std::string(table().name); });
    m.def("centers_per_tile", [] { return table().single.tile_rows; });
    m.def("use_instruction_set", &use_instruction_set, "name"_a);
}
