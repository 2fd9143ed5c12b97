"""Meanings of findings for readers of the groups, who need not know statistics."""

from __future__ import annotations

# by the name of the finding; they hold for every fit, so they name no rows and no values
MEANINGS = {
    "not-converged": "The groups are not final: a longer search would still move rows from one "
    "group to another.",
    "unequal-magnitudes": "These few decide where the groups are, and ordinary rows hardly count. "
    "Often they are typing errors, or codes such as 999999 for “unknown”.",
    "scale": "The other columns hardly matter for the groups. Usually this is a matter of units: "
    "one column has far larger numbers than the others.",
    "constant-features": "Such a column cannot tell one group from another. Without it, the groups "
    "would be the same.",
    "correlated-features": "One and the same fact is counted several times, so the groups follow "
    "it more than anything else in the table.",
    "missing-values": "Some cells are empty. Groups are made and described by the values that are "
    "there, so they may reflect who has a value at all.",
    "equal-rows": "There is nothing to divide: all rows are one group.",
    "few-distinct-rows": "Each group is one row with its copies, so the groups say no more than "
    "the rows themselves.",
    "many-clusters": "A group has fewer than three different rows on average. That is too few to "
    "say anything general about it.",
    "duplicates": "Rows that occur many times decide the groups. That is right if every copy is a "
    "case of its own, and wrong if rows were repeated by mistake.",
    "outliers": "They are mistakes in the data or true exceptions. Either way they distort the "
    "groups: they pull a group towards them, or use up a group of their own.",
    "coincident-centers": "These groups are practically one. It is arbitrary which of them a row "
    "belongs to.",
    "elongated-clusters": "The method looks for round groups and cuts long ones across. Groups "
    "next to each other may be parts of one.",
    "empty-clusters": "There are fewer groups than were asked for.",
    "near-faces": "With slightly different numbers, these rows would be in another group. Do not "
    "rely on the group of a single row.",
    "split-groups": "Such a pair looks like one group that was cut in two. The border is a "
    "convention, not a difference that is in the data.",
    "unequal-clusters": "Some rows at this border are probably in the wrong group: borders are "
    "drawn midway, even between a large group and a small one.",
    "not-convex": "Groups that wind around each other, or lie inside one another, are cut into "
    "pieces here. The true groups may be different ones.",
    "unstable": "A new sample of the same kind would give other groups. Read these as one of "
    "several possible divisions, not as a fact.",
    "local-minimum": "Another attempt finds groups that fit the rows better. These are not the "
    "best ones of this number.",
}
