"""Axes, labels and colours that all figures share."""

from __future__ import annotations

import io
import re
import zlib
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fontTools import subset
from fontTools.ttLib import TTFont
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qrt_study.figures import style


@settings(max_examples=15, deadline=None)
@example(low=-2.5625, high=0.0, threshold=0.001, which="x", inches=0.875)
@given(
    st.floats(-8, 8), st.floats(-8, 8), st.sampled_from([0.001, 0.1, 1.0]), st.sampled_from(["x", "y"]),
    st.floats(0.8, 6.0),
)  # fmt: skip
def test_symlog_axis_shows_all_with_labels_that_keep_apart(
    low: float, high: float, threshold: float, which: str, inches: float
) -> None:
    low, high = -(10**low), 10**high
    with style.paper_style():
        figure = plt.figure(figsize=(inches + 2, inches + 2))
        axes = figure.add_axes((1 / (inches + 2), 1 / (inches + 2), inches / (inches + 2), inches / (inches + 2)))
        words = style.symlog_axis(axes, which, low, high, threshold)  # type: ignore[arg-type]
        figure.draw_without_rendering()
        axis = axes.xaxis if which == "x" else axes.yaxis
        start, stop = axes.get_xlim() if which == "x" else axes.get_ylim()
        assert start < min(low, -threshold)
        assert stop > max(high, threshold)
        scaled = axis.get_transform().transform(np.array([start, -threshold, threshold, stop]))
        assert (scaled[2] - scaled[1]) / (scaled[3] - scaled[0]) > 0.3
        ticks = axis.get_majorticklocs()
        assert 0 in ticks
        assert all(start <= tick <= stop for tick in ticks)
        if max(-low, high) > threshold:
            assert words == f"linear to ±{threshold:g}, then log"
            assert np.abs(ticks).max() > 1.5 * threshold
        else:
            assert words == ""
        boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
        for one, other in pairwise(boxes):
            assert one.x1 < other.x0 if which == "x" else one.y0 < other.y1 and one.y1 - 2 < other.y0
    plt.close("all")


@pytest.mark.parametrize(("low", "high"), [(-1.02, 0.3), (-0.4, 1.9), (-9.6, 10.9), (-4.2, 4.9)])
def test_cohens_d_just_beyond_the_linear_part_has_a_label_there(low: float, high: float) -> None:
    with style.paper_style():
        axes = plt.figure(figsize=(2, 2)).add_axes((0.2, 0.2, 0.5, 0.5))
        style.symlog_axis(axes, "x", low, high, 1.0)
        ticks = axes.xaxis.get_majorticklocs()
        for side in (-1, 1):
            is_beyond = max(side * low, side * high) > 1
            assert (side * ticks > 1).any() == is_beyond
    plt.close("all")


@pytest.mark.parametrize(
    ("method", "name"), [("alpha=-0.05", "α = −0.05"), ("alpha=2", "α = 2"), ("QRTC b=0.1", "QRTC b=0.1")]
)
def test_weights_of_the_entropy_term_are_named_as_in_formulas(method: str, name: str) -> None:
    assert style.method_name(method) == name


@pytest.mark.parametrize(
    ("value", "label"),
    [(0, "0"), (-10, "−10"), (0.0005, "0.0005"), (1000, "1000"), (1e6, "$10^{6}$"), (-5e-5, r"$-5{\cdot}10^{-5}$")],
)
def test_labels_of_ticks(value: float, label: str) -> None:
    assert style.power_label(value) == label


def test_letters_in_the_colour_of_a_method_stand_out_from_white() -> None:
    alphas = [f"alpha={place}" for place in range(12)]
    for method in (*alphas, "BASE", "QRC", "QREGC", "QRTC", "QRGC", "QRIC", "QRLC"):
        rgb = [int(style.text_colour(method, alphas)[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
        luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
        assert 1.05 / (luminance + 0.05) > 4.4
    assert len({style.colour(alpha, alphas) for alpha in alphas}) == 12


def test_a_message_has_its_title_and_fits_the_page() -> None:
    with style.paper_style():
        figure = style.message_figure("Nothing to draw, " * 12, "A title with $ and _")
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in figure.texts]
        assert figure.texts[0].get_text() == r"A title with \$ and _"
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
    plt.close(figure)


def test_saving_a_figure_with_formulas_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with style.paper_style():
        figure, axes = plt.subplots()
        axes.set_ylabel(r"NLL of $F'_\theta$")
        style.save(figure, tmp_path / "figure.pdf", tmp_path / "figure.png")
    assert caplog.records == []


def test_fonts_of_a_pdf_have_the_glyphs_and_no_tables_for_setting_text(tmp_path: Path) -> None:
    with style.paper_style():
        figure = style.message_figure("Text", "A title")
        style.save(figure, tmp_path / "figure.pdf", tmp_path / "figure.png")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", (tmp_path / "figure.pdf").read_bytes(), re.DOTALL)
    contents = [zlib.decompress(stream) for stream in streams]
    fonts = [TTFont(io.BytesIO(content)) for content in contents if content.startswith(b"\x00\x01\x00\x00")]
    assert len(fonts) == 2  # of the title, and of the message
    for font in fonts:
        assert {"T", "t", "e"} & set(font.getGlyphOrder())
        assert not {"GDEF", "GPOS", "GSUB"} & set(font.keys())
    assert "GSUB" not in subset.Options().drop_tables  # as others have it
