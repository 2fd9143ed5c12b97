// Bindings of the dynamic programme of K-means on a line.

#include <bit>

#include "common.hpp"

namespace partita::binding {

namespace {

constexpr std::size_t kRowsOfPrefix = 6;
constexpr std::size_t kPartPoints = 64;    // of a part of a level: each takes microseconds
constexpr std::size_t kTreePoints = 2048;  // whose levels are done together, in the cache

void split_layer(Matrix<double> prefix, std::size_t layer, Matrix<double> before,
                 Array<double, 2> after, OutVector<std::int32_t> split, Crew* crew) {
    const std::size_t stride = prefix.shape(1);
    expect(prefix.shape(0) == kRowsOfPrefix && stride > 0 && stride <= 0x7fffffff,
           "split_layer: prefix must be (6, n + 1)");
    expect(before.shape(0) == 2 && before.shape(1) == stride && after.shape(0) == 2 &&
               after.shape(1) == stride && split.shape(0) == stride,
           "split_layer: before and after must be (2, n + 1), split (n + 1)");
    expect(layer > 0, "split_layer: layer must be at least 1");
    if (layer >= stride) return;
    const std::size_t count = stride - layer;
    const LineView line{stride, prefix.data()};
    const LayerView view{layer, before.data(), after.data(), split.data()};
    const auto use = table().split_points;
    const auto costs = table().split_costs;
    nb::gil_scoped_release release;
    const Executor executor(crew);
    const auto points_of = [&](std::size_t step) { return (count / step + 1) / 2; };
    for (std::size_t step = std::bit_floor(count); step >= kTreePoints; step /= 2)
        parallel_for(executor, points_of(step), kPartPoints, 0,
                     [&](std::size_t first, std::size_t last, unsigned char*) {
                         use(line, view, step, first, last);
                     });
    parallel_for(executor, count / kTreePoints + 1, 1, 0,
                 [&](std::size_t tree, std::size_t, unsigned char*) {
                     for (std::size_t step = kTreePoints / 2; step > 0; step /= 2) {
                         const std::size_t each = kTreePoints / (2 * step);
                         use(line, view, step, std::min(tree * each, points_of(step)),
                             std::min((tree + 1) * each, points_of(step)));
                     }
                 });
    parallel_for(executor, count, kTreePoints, 0,
                 [&](std::size_t first, std::size_t last, unsigned char*) {
                     costs(line, view, layer + first, layer + last);
                 });
}

}  // namespace

void bind_split_layers(nb::module_& m) {
    m.def("split_layer", &split_layer, "prefix"_a.noconvert(), "layer"_a, "before"_a.noconvert(),
          "after"_a.noconvert(), "split"_a.noconvert(), "crew"_a = nb::none());
}

}  // namespace partita::binding
