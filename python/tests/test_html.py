"""Cards for notebooks."""

import xml.etree.ElementTree as xml

from furrow._html import card, text_of, training_chart

HISTORY = [
    {"epoch": 1, "train": {"loss": 0.7}, "valid": {"loss": 0.8}},
    {"epoch": 2, "train": {"loss": 0.5}, "valid": {"loss": float("nan")}},
    {"epoch": 3, "train": {"loss": 0.4}, "valid": {"loss": 0.6}},
]


def test_text_is_escaped():
    text = card("<b>", [("a&b", "<script>"), ("nothing", None)])
    assert "<script>" not in text and "&lt;script&gt;" in text and "nothing" not in text
    xml.fromstring(text)


def test_numbers_for_people():
    assert [text_of(x) for x in (True, 1234567, 0.123456, "x")] == ["yes", "1,234,567", "0.1235", "x"]


def test_chart_draws_both_sides_and_says_so():
    root = xml.fromstring(training_chart(HISTORY))
    lines = [element.get("points").split() for element in root.iter("polyline")]
    assert [len(points) for points in lines] == [3, 2]  # the NaN is left out
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)  # the loss falls: down the picture
    assert "valid 0.6" in root.get("aria-label")


def test_no_chart_without_two_points():
    assert training_chart([]) == training_chart(HISTORY[:1]) == training_chart(HISTORY, "auc") == ""
