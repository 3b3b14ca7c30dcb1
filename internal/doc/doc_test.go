package doc

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDigitsHaveNoExponent(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0.00001234, 3, "0.0000123"}, {-0.00001234, 2, "-0.000012"}, {1234567.8, 4, "1234568"}, {2.5, 4, "2.5"}, {99999.9, 4, "100000"}, {0, 3, "0"}, {1e-12, 3, "0"}, {1e21, 3, "1000000000000000000000"},
		{math.NaN(), 3, "-"}, {math.Inf(1), 3, "-"}, {math.Inf(-1), 3, "-"},
	} {
		require.Equal(t, c.want, Digits(c.v, c.digits), "%v", c.v)
	}
	require.Equal(t, "< 0.001", Chance(1e-300))
	require.Equal(t, "0.042", Chance(0.0421))
}

// TestASectionWithoutTablesIsLeftOut: what is said of tables that have no row is not said, and what
// is done to such a section does nothing to the one before.
func TestASectionWithoutTablesIsLeftOut(t *testing.T) {
	rows := New("a")
	rows.Row(1)
	d := Document{}
	d.Add("one", "One", Say("of the rows"), Show(rows), Show(New("b"))).Link = "1"
	d.Add("two", "Two", Say("of the rows"), Show(New("b")), Part{Fold: "more", Parts: []Part{Show(New("c"))}}).Link = "2"
	d.Add("three", "Three", Say("a text alone"))
	require.Len(t, d.Sections, 2)
	require.Equal(t, "1", d.Sections[0].Link)
	require.Len(t, d.Sections[0].Parts, 2)
	require.Equal(t, "three", d.Sections[1].ID)
}

// TestSectionsAreReadAsTheyWereWritten: of a table the JSON has the texts.
func TestSectionsAreReadAsTheyWereWritten(t *testing.T) {
	rows := New("name", "n")
	rows.Row("x", Quantity("1,000", 1000))
	raw, err := json.Marshal(Section{ID: "left out", Title: "T", Parts: []Part{Say("said"), Show(rows)}})
	require.NoError(t, err)
	require.JSONEq(t, `{"title": "T", "parts": [{"text": "said"}, {"head": ["name", "n"], "cells": [["x", "1,000"]]}]}`, string(raw))
	var back Section
	require.NoError(t, json.Unmarshal(raw, &back))
	require.Nil(t, back.Parts[0].Table)
	require.Equal(t, [][]Cell{{{Text: "x", JSON: "x"}, {Text: "1,000", JSON: "1,000"}}}, back.Parts[1].Rows)
}
