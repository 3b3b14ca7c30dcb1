package profiles

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// notations are whole numbers that are not written in plain digits, and what to write instead.
var notations = map[string]string{
	"1e3": "write 1000", "1E3": "write 1000", "1_000": "write 1000", "1,000": "write 1000", "0x10": "write 16", "0o10": "write 8", "0b11": "write 3", "1.0": "write 1",
	"1000.": "write 1000", "+5": "write 5", "010": "write 10 without a leading 0", "-007": "write -7 without a leading 0", "1.5": "", "1e-3": "", ".5": "",
}

// Every key that is a whole number, or a list of them, in every file: another notation is an error at its line and column that
// says what to write.
func TestWholeNumbersAreInDigits(t *testing.T) {
	keys := 0
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		for _, f := range fieldsOf(of) {
			switch f.kind {
			case aBlock:
				walk(f.Type)
				continue
			case blocks:
				walk(f.Type.Elem())
				continue
			case aRef:
				walk(reflect.TypeFor[Profile]())
				continue
			case aWhole:
			case aNodes:
			case aList:
				if kindOf(f.Type.Elem()) != aWhole {
					continue
				}
			default:
				continue
			}
			keys++
			for text, want := range notations {
				line, column := fmt.Sprintf("%s: %s", f.key, text), len(f.key)+3
				if f.kind == aList {
					if text == "1,000" {
						continue // two items
					}
					line, column = fmt.Sprintf("%s: [%s]", f.key, text), column+1
				}
				_, err := decode("f.yaml", []byte("\n"+line+"\n"), reflect.New(of).Interface())
				require.ErrorContains(t, err, fmt.Sprintf("f.yaml:2:%d: %s", column, f.key), "%s of %s", f.key, of)
				require.ErrorContains(t, err, want, "%s of %s", line, of)
			}
		}
	}
	for _, file := range []reflect.Type{reflect.TypeFor[Profile](), reflect.TypeFor[Cluster](), reflect.TypeFor[Experiment](), reflect.TypeFor[Gate](), reflect.TypeFor[Scaling]()} {
		walk(file)
	}
	require.Greater(t, keys, 40)
	t.Logf("%d keys", keys)
}

// Numbers of nodes are in digits; what looks like a number may be a name if it is in quotes.
func TestNodesThatLookLikeNumbers(t *testing.T) {
	groups := func(nodes string) []byte {
		return []byte("groups:\n  - {name: g, nodes: " + nodes + "}\n")
	}
	for text, want := range map[string]string{
		"1e3":      `f.yaml:2:22: groups[0].nodes: found 1e3, want a number of nodes in digits, or names like n[001-256]: write 1000; put it in quotes if it is the name of a node`,
		"[n1,1_0]": "f.yaml:2:26: groups[0].nodes[1]: found 1_0, want a number of nodes in digits, or names like n[001-256]: write 10; put it in quotes if it is the name of a node",
		"010":      "f.yaml:2:22: groups[0].nodes: found 010, want a number of nodes in digits, or names like n[001-256]: write 10 without a leading 0, which some readers take for octal",
		"'010'":    "f.yaml:2:22: groups[0].nodes: found 010, want a number of nodes in digits",
		"1.5":      "f.yaml:2:22: groups[0].nodes: found 1.5, want a number of nodes in digits, or names like n[001-256]; put it in quotes",
	} {
		var c Cluster
		_, err := decode("f.yaml", groups(text), &c)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]Nodes{"1000": {"1000"}, "'1e3'": {"1e3"}, "[12-5, '0x1f']": {"12-5", "0x1f"}, "n1e3": {"n1e3"}, "1n": {"1n"}} {
		var c Cluster
		_, err := decode("f.yaml", groups(text), &c)
		require.NoError(t, err, text)
		require.Equal(t, want, c.Groups[0].Nodes)
	}
}
