"""The page: well-formed, self-contained, readable, and of limited size."""

from __future__ import annotations

import base64
import hashlib
import re

import numpy as np
import pytest
from helpers.reports import NONE, Page, fitted

from partita import (
    KMeans,
    MiniBatchKMeans,
)
from partita.chart_layout.palette import PALETTE
from partita.report import (
    Fitted,
    render,
    write_report,
)


def test_the_page_is_well_formed_and_its_links_lead_somewhere(wine):
    page = Page(render(wine))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(name, ids[0]).split()) <= set(ids)
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == 1
    for needed in ("main", "nav", "header", "footer", "canvas"):
        assert needed in tags


def test_nothing_is_fetched_and_only_this_script_and_style_may_run(wine):
    page = Page(render(wine))
    for tag, attributes in page.elements:
        for name, text in attributes.items():
            assert not name.startswith("on"), f"{tag} has a handler"
            assert name != "style", f"{tag} has a style that the policy forbids"
            if name in ("src", "href", "action", "data"):
                assert text.startswith(("#", "data:")), text
    assert "@import" not in page.raw["style"]
    assert "url(" not in page.raw["style"]
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        digest = hashlib.sha256(page.raw[kind].encode()).digest()
        assert f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy


@pytest.mark.heavy
def test_the_same_record_gives_the_same_bytes(wine):
    assert render(wine) == render(wine)


def test_dark_colours_are_the_same_by_choice_and_by_preference(wine):
    blocks = re.findall(r"\{([^{}]*--paper: #14[^{}]*)\}", Page(render(wine)).raw["style"])
    assert len(blocks) == 2
    assert blocks[0].split() == blocks[1].split()


def test_clusters_have_the_same_colours_everywhere(wine):
    page = Page(render(wine))
    light = page.raw["style"].split("@media")[0]
    found = dict(re.findall(r"--c(\d+): (#[0-9a-f]{6});", light))
    assert [found[str(j)] for j in range(len(found))] == [c.lower() for c in PALETTE]
    assert f"const N_COLORS = {len(PALETTE)};" in page.raw["script"]
    assert len(set(re.findall(r"\.c\d+ \{ color", light + page.raw["style"]))) == len(found)
    best = re.search(r"\.best \{ stroke: var\(--(\w+)\)", page.raw["style"]).group(1)
    assert not re.fullmatch(r"c\d", best)


def luminance(color):
    """As WCAG counts it, of red, green and blue from 0 to 255."""
    part = np.asarray(color) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_numbers_of_a_heat_map_can_be_read(wine, dark):
    css = Page(render(wine)).raw["style"]
    block = css[css.index("@media") :] if dark else css
    rgb = lambda name: np.array(  # noqa: E731
        [int(part, 16) for part in re.search(rf"--{name}: #(..)(..)(..);", block).groups()]
    )
    levels = re.findall(
        r"\.z[hl](\d) \{ background: color-mix\(in srgb, var\(--(\w+)\) (\d+)%", css
    )
    assert len(levels) == 12
    for _, name, share in levels:
        mixed = rgb(name) * int(share) / 100 + rgb("paper") * (1 - int(share) / 100)
        low, high = sorted([luminance(mixed), luminance(rgb("ink"))])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_a_small_report_is_small(wine):
    assert len(render(wine).encode()) < 300_000


@pytest.mark.slow
def test_a_million_rows_make_a_report_of_less_than_five_megabytes():
    X = np.random.default_rng(0).normal(size=(1_000_000, 8)).astype(np.float32)
    model = MiniBatchKMeans(6, random_state=0).fit(X)
    assert len(render(Fitted(model, X, diagnosis=NONE)).encode()) < 5_000_000


def test_ten_thousand_columns_give_a_small_page():
    X = np.random.default_rng(0).normal(size=(30, 10_000))
    made = Fitted(KMeans(2, random_state=0).fit(X), X, diagnosis=NONE)
    text = render(made)
    assert len(text) < 300_000
    assert "9\u202f960 features that differ less are left out" in Page(text).text


@pytest.mark.heavy
def test_very_many_clusters_are_told_by_the_largest():
    X = np.random.default_rng(0).normal(size=(1200, 3))
    made = Fitted(KMeans(400, random_state=0, max_iter=2).fit(X), X, diagnosis=NONE)
    text = render(made)
    page = Page(text)
    assert "only the 200 largest of 400 groups are listed" in page.text.lower()
    rows = [a for tag, a in page.elements if tag == "tr" and "data-group" in a]
    assert len(rows) == 2 * 200  # all groups, and their spreads
    assert "And 388 smaller groups" in page.text
    assert sum(a.get("class") == "card" for _, a in page.elements) == 12
    assert len(text) < 2_000_000


def test_heat_maps_wider_than_paper_are_there_in_parts():
    X = np.random.default_rng(0).normal(size=(300, 3))
    made = Fitted(KMeans(30, random_state=0, max_iter=2).fit(X), X, diagnosis=NONE)
    page = Page(render(made))
    assert sum(a.get("class") == "sheet" for _, a in page.elements) == 5
    assert not any(a.get("class") == "sheet" for _, a in Page(render(fitted())).elements)


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path, made = tmp_path / "report.html", fitted()
    assert write_report(path, made).n_clusters == 3
    before = path.read_bytes()
    assert before == render(made).encode()
    with pytest.raises(FileExistsError, match="already exists"):
        write_report(path, made)
    with pytest.raises(ValueError, match=r"`path` must be a name that ends in .html or .htm, got"):
        write_report(tmp_path / "report.pdf", made)
    with pytest.raises(ValueError, match=r"must be a Fitted, got KMeans. Use Fitted\(model, X\)\."):
        write_report(tmp_path / "other.html", made.model)
    write_report(str(path), fitted(k=2), force=True)
    assert path.read_bytes() != before

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    kept = path.read_bytes()
    with pytest.raises(OSError, match="no space"):
        write_report(path, made, force=True)
    assert path.read_bytes() == kept
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
