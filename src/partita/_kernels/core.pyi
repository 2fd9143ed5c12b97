from partita._common.array_types import Floats, Ints

class Sums:
    def __init__(
        self, hi: Ints, lo: Ints, origin: Floats, up: Floats, scale: float, limb: float
    ) -> None: ...

class Codebook32:
    def __init__(
        self,
        centers: Floats,
        origin: Floats,
        members: Ints | None = None,
        sizes: Ints | None = None,
        like: KeptRows | None = None,
        crew: Crew | None = None,
    ) -> None: ...

class Codebook64:
    def __init__(
        self,
        centers: Floats,
        origin: Floats,
        members: Ints | None = None,
        sizes: Ints | None = None,
        like: KeptRows | None = None,
        crew: Crew | None = None,
    ) -> None: ...

class KeptRows: ...

class Crew:
    def __init__(self, threads: int) -> None: ...
    def dismiss(self) -> None: ...

class Target:
    def __init__(self, centers: Floats, origin: Floats) -> None: ...

class Motion:
    def __init__(
        self,
        members: Ints,
        sizes: Ints,
        centers: Floats,
        origin: Floats,
        quantum: float,
        blur: float,
        geometry: bool,
    ) -> None: ...
    def follow(
        self,
        centers: Floats,
        origin: Floats,
        labels: Ints,
        upper: Ints,
        other: Ints,
        lower: Ints,
        crew: Crew | None = None,
    ) -> None: ...
    @property
    def own(self) -> list[float]: ...
    @property
    def come(self) -> list[float]: ...
    @property
    def all(self) -> float: ...

class Leaves:
    @property
    def nodes(self) -> int: ...
    @property
    def order(self) -> Ints: ...
    def forget(self) -> None: ...

class TreeBook:
    def __init__(self, centers: Floats, scale: float, moved: Ints) -> None: ...

class SparseCodebook32:
    def __init__(self, centers: Floats, longest: int) -> None: ...

class SparseCodebook64:
    def __init__(self, centers: Floats, longest: int) -> None: ...

class Sketch:
    def __init__(self, data: Ints, middle: Floats, step: float) -> None: ...

class Csr32:
    def __init__(self, start: Ints, column: Ints, value: Floats, d: int) -> None: ...

class Csr64:
    def __init__(self, start: Ints, column: Ints, value: Floats, d: int) -> None: ...

def assign(
    book: Codebook32 | Codebook64,
    rows: Floats,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
    kept: KeptRows | None = None,
    at: int = 0,
) -> tuple[int, int]: ...
def keep_rows(book: Codebook32, rows: Floats, crew: Crew | None = None) -> KeptRows: ...
def bounded(
    filter: Codebook32,
    target: Target | None,
    rows: Floats,
    labels: Ints,
    upper: Ints,
    other: Ints,
    lower: Ints,
    motion: Motion,
    whole: bool,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    filter_rows: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]: ...
def plant(rows: Floats, origin: Floats, scale: float, crew: Crew | None = None) -> Leaves: ...
def assign_leaves(
    leaves: Leaves,
    first: int,
    last: int,
    book: TreeBook,
    target: Target,
    rows: Floats,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]: ...
def assign_sparse(
    book: SparseCodebook32 | SparseCodebook64,
    rows: Csr32 | Csr64,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
) -> tuple[int, int]: ...
def move_rows(
    sums: Sums,
    rows: Floats,
    before: Ints,
    after: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None: ...
def move_sparse(
    sums: Sums,
    rows: Csr32 | Csr64,
    before: Ints,
    after: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
) -> None: ...
def exact_few(rows: Floats, centers: Floats, labels: Ints) -> bool: ...
def distances(rows: Floats, centers: Floats, out: Floats) -> None: ...
def two_nearest(
    rows: Floats,
    centers: Floats,
    labels: Ints,
    first: Floats,
    second: Floats,
    crew: Crew | None = None,
) -> None: ...
def own_distance(
    rows: Floats,
    centers: Floats,
    origin: Floats,
    labels: Ints,
    out: Floats,
    crew: Crew | None = None,
) -> None: ...
def own_distance_sparse(
    rows: Csr32 | Csr64, centers: Floats, squares: Floats, labels: Ints, out: Floats
) -> None: ...
def square_norms(centers: Floats, out: Floats) -> None: ...
def sketch_rows(rows: Floats, scale: float, sketch: Sketch) -> None: ...
def seed_gain(
    rows: Floats,
    scale: float,
    candidates: Floats,
    closest: Floats,
    labels: Ints,
    chosen: Floats,
    marks: Ints,
    gain: Floats,
    sketch: Sketch | None = None,
    weight: Floats | None = None,
) -> None: ...
def seed_choose(
    rows: Floats,
    scale: float,
    candidates: Floats,
    which: int,
    closest: Floats,
    labels: Ints,
    number: int,
    marks: Ints,
    potential: Floats,
    sketch: Sketch | None = None,
    weight: Floats | None = None,
) -> None: ...
def plusplus(
    rows: Floats,
    scale: float,
    uniform: Floats,
    trials: int,
    rounds: tuple[int, int],
    chosen: Ints,
    centers: Floats,
    closest: Floats,
    labels: Ints,
    potential: Floats,
    sketch: Sketch | None = None,
    weight: Floats | None = None,
) -> None: ...
def tally(
    rows: Floats, middle: Floats, near: Floats, counts: Ints, crew: Crew | None = None
) -> None: ...
def extent(
    rows: Floats,
    low: Floats,
    high: Floats,
    taint: Floats,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None: ...
def summarise(
    sums: Sums,
    unit: float,
    centers: Floats,
    weight: Floats,
    mean: Floats,
    sse: Floats,
    gap: Floats,
    crew: Crew | None = None,
) -> None: ...
def exact_sum(values: Floats, digits: Ints) -> None: ...
def gram_move(
    rows: Floats,
    which: Ints,
    before: Ints,
    after: Ints,
    row_shift: Floats,
    column_shift: Floats,
    scale: float,
    limb: float,
    sums: Ints,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> None: ...
def gram_assign(centers: Floats, labels: Ints, crew: Crew | None = None) -> int: ...
def silhouette(
    panels: Floats,
    own: Ints,
    rows: Floats,
    weight: Floats,
    start: Ints,
    mass: Floats,
    metric: str,
    inside: Floats,
    outside: Floats,
    crew: Crew | None = None,
) -> None: ...
def silhouette_strips(
    rows: Floats,
    weight: Floats,
    start: Ints,
    mass: Floats,
    metric: str,
    begin: int,
    most: int,
    lower: Floats,
    inside: Floats,
    outside: Floats,
    crew: Crew | None = None,
) -> int: ...
def spin(rounds: int, single: bool) -> float: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...

class Swaps32:
    loss: float
    def __init__(
        self,
        medoids: Ints,
        columns: Floats,
        near: Ints,
        second: Ints,
        closest: Floats,
        next: Floats,
        removal: Floats,
        weight: Floats | None = None,
    ) -> None: ...

class Swaps64:
    loss: float
    def __init__(
        self,
        medoids: Ints,
        columns: Floats,
        near: Ints,
        second: Ints,
        closest: Floats,
        next: Floats,
        removal: Floats,
        weight: Floats | None = None,
    ) -> None: ...

def swap_scan(
    swaps: Swaps32 | Swaps64,
    table: Floats,
    rows: Ints,
    ids: Ints,
    change: Floats,
    place: Ints,
    crew: Crew | None = None,
) -> None: ...
def swap_search(
    swaps: Swaps32 | Swaps64,
    table: Floats,
    rows: Ints,
    ids: Ints,
    idle: int,
    limit: int,
    crew: Crew | None = None,
) -> tuple[int, int, int]: ...
def swap_apply(swaps: Swaps32 | Swaps64, column: Floats, id: int, place: int) -> bool: ...
def swap_gain(
    table: Floats,
    closest: Floats | None,
    weight: Floats | None,
    gain: Floats,
    crew: Crew | None = None,
) -> None: ...
def pair_columns(
    panels: Floats, centers: Floats, metric: str, out: Floats, crew: Crew | None = None
) -> None: ...
def inspect(matrix: Floats, looks: Floats, crew: Crew | None = None) -> None: ...
