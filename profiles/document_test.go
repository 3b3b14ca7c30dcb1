package profiles

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/doctest"
	"orrery/scheduler/order"
)

var update = flag.Bool("update", false, "write the tables of keys into the documents")

func fieldsOfProfile() []field { return fieldsOf(reflect.TypeFor[Profile]()) }

// TestDocumentsListTheKeys compares the tables of the documents with the keys
// that exist.
func TestDocumentsListTheKeys(t *testing.T) {
	for path, keys := range map[string][]documentKey{
		"../docs/PROFILE-FORMAT.md":    profileKeys(),
		"../docs/CLUSTER-FORMAT.md":    clusterKeys(),
		"../docs/EXPERIMENT-FORMAT.md": experimentKeys(),
		"../docs/GATE-FORMAT.md":       gateKeys(),
		"../docs/SCALING-FORMAT.md":    scalingKeys(),
		"../docs/WHATIF.md":            scenarioKeys(),
	} {
		doctest.Part{File: path, Begin: "<!-- printed: keys, by go generate ./profiles -->\n", End: "<!-- end -->"}.Holds(t, keyTable(keys), *update)
	}
}

// TestDocumentListsTheOrders compares the table of queue orders with those that exist.
func TestDocumentListsTheOrders(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| order | smallest first | source |\n|---|---|---|\n")
	for i, name := range order.Names() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", name, order.Order(i).Formula(), order.Order(i).Source())
	}
	doctest.Part{File: "../docs/PROFILE-FORMAT.md", Begin: "<!-- printed: orders, by go generate ./profiles -->\n", End: "<!-- end -->"}.Holds(t, b.String()+"\n", *update)
}

// documentKey is one key of a file as a document describes it.
type documentKey struct {
	Path    string // weights.priority; a list has [] behind its name
	Type    string
	Unit    string
	Default string
	Range   string   // 0 to 1, at least 0
	Words   []string // that it may be
	Orders  bool     // names of queue orders among them, which have a table of their own
	When    string   // other keys that it depends on
	Doc     string
}

func profileKeys() []documentKey { return keysOf(reflect.TypeFor[Profile](), "") }

func scenarioKeys() []documentKey { return keysOf(reflect.TypeFor[Scenario](), "") }

func experimentKeys() []documentKey { return keysOf(reflect.TypeFor[Experiment](), "") }

func clusterKeys() []documentKey { return keysOf(reflect.TypeFor[Cluster](), "") }

// span is the range of a key in words, "" when it has none.
func (f field) span() string {
	low, high := f.tag("min"), f.tag("max")
	switch {
	case low != "" && high != "":
		return low + " to " + high
	case low != "" && low != "0" && low != "0s":
		return "at least " + low
	}
	return ""
}

func keysOf(t reflect.Type, path string) []documentKey {
	var out []documentKey
	for _, f := range fieldsOf(t) {
		k := kindOf(f.Type)
		key := documentKey{
			Path: join(path, f.key), Type: kindNames[k], Unit: f.tag("unit"), Default: f.tag("default"),
			Range: f.span(), Words: f.words(), Orders: f.tag("of") == "orders", When: f.tag("when"), Doc: f.tag("doc"),
		}
		if z := f.tag("zero"); z != "" && key.Default != z {
			key.Words = append(key.Words, z)
		}
		if k == blocks {
			key.Path += "[]"
		}
		out = append(out, key)
		switch k {
		case aBlock:
			out = append(out, keysOf(f.Type, key.Path)...)
		case blocks:
			out = append(out, keysOf(f.Type.Elem(), key.Path)...)
		}
	}
	return out
}

func keyTable(keys []documentKey) string {
	var b strings.Builder
	b.WriteString("\n| key | value | default | applies | meaning |\n|---|---|---|---|---|\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	for _, k := range keys {
		value := k.Type
		if k.Orders {
			k.Words = slices.DeleteFunc(k.Words, func(w string) bool { return slices.Contains(order.Names(), w) })
		}
		if k.Unit != "" && k.Unit != k.Type {
			value += ", " + k.Unit
		}
		if k.Words != nil && k.Type == "text" {
			value = ""
		}
		if k.Range != "" {
			value += ", " + k.Range
		}
		if k.Words != nil && value != "" {
			value += ", "
		}
		for i, w := range k.Words {
			if i > 0 {
				value += ", "
			}
			value += code(w)
		}
		if k.Orders {
			value += ", or an [order](PROFILE-FORMAT.md#orders)"
		}
		when := strings.NewReplacer("!=", " is not ", "=", ": ", "|", " or ", ",", ", ").Replace(k.When)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(k.Path), value, code(k.Default), when, k.Doc)
	}
	return b.String() + "\n"
}

func TestKeysAreComplete(t *testing.T) {
	for _, k := range slices.Concat(profileKeys(), clusterKeys(), experimentKeys(), gateKeys(), scalingKeys(), scenarioKeys()) {
		require.NotEmpty(t, k.Doc, k.Path)
		require.NotContains(t, k.Doc, "|", k.Path)
		if k.Type == "number" || k.Type == "whole number" {
			require.NotEmpty(t, k.Unit, k.Path)
			require.NotEmpty(t, k.Default, k.Path)
		}
	}
}

// TestDocumentExamples reads the examples of the documents as they are written.
func TestDocumentExamples(t *testing.T) {
	for path, read := range map[string]func(string) error{
		"../docs/PROFILE-FORMAT.md": func(text string) error {
			_, err := Parse("example", []byte(text))
			return err
		},
		"../docs/EXPERIMENT-FORMAT.md": func(text string) error {
			_, err := ParseExperiment("example", []byte(text))
			return err
		},
		"../docs/CLUSTER-FORMAT.md": func(text string) error {
			c, err := ParseCluster("example", []byte(text))
			if err != nil {
				return err
			}
			_, err = c.Resolve()
			return err
		},
		"../docs/GATE-FORMAT.md": func(text string) error {
			_, err := ParseGate("example", []byte(text))
			return err
		},
		"../docs/WHATIF.md": func(text string) error {
			s, err := ParseScenario("example", []byte(text))
			if err != nil {
				return err
			}
			return s.Inline("testdata")
		},
		"../docs/SCALING-FORMAT.md": func(text string) error {
			_, err := ParseScaling("example", []byte(text))
			return err
		},
	} {
		doc, err := os.ReadFile(path)
		require.NoError(t, err)
		blocks := strings.Split(string(doc), "```yaml\n")
		require.Greater(t, len(blocks), 1, path)
		for _, block := range blocks[1:] {
			text, _, ok := strings.Cut(block, "```")
			require.True(t, ok, path)
			require.NoError(t, read(text), "%s:\n%s", path, text)
		}
	}
}
