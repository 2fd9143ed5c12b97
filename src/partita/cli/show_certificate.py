"""A certificate in a terminal."""

from __future__ import annotations

from rich.console import Console

from partita._common.text import format_number, one_line, one_sentence
from partita.certificates.certificate import MAX_METHOD_CHARACTERS, Certificate
from partita.cli import paragraphs

MAX_SENTENCE = 500  # characters


def gap_text(certificate: Certificate) -> str:
    """Return the gap in a few words, with the method."""
    method = one_line(certificate.method, MAX_METHOD_CHARACTERS)
    return f"{certificate.short} ({certificate.kind}, {method})".replace("\u202f", " ")


def print_certificate(certificate: Certificate, out: Console) -> None:
    """Print the verdict, the numbers behind it, and the sentence for a paper."""
    verdict = certificate.verdict
    paragraphs.print_item(out, f"{verdict[:1].upper()}{verdict[1:]}.", 0, "bold", hang=0)
    facts = {
        "objective": f"{certificate.objective:.6g}",
        "lower bound": f"{certificate.lower_bound:.6g}",
        "gap": certificate.gap_text,
        "kind": certificate.meaning,
        "method": one_line(certificate.method, MAX_METHOD_CHARACTERS),
        "time": f"{format_number(round(certificate.seconds, 2))} s",
    }
    for name, text in facts.items():
        paragraphs.print_item(out, f"{name:>11}  {text}", 0, hang=13)
    out.print()
    sentence = one_sentence(certificate.sentence, MAX_SENTENCE)
    paragraphs.print_item(out, sentence, 0, "dim", hang=0)
