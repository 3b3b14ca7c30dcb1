package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document describes the columns that the code writes, in order.
func TestDocumentDescribesTheColumns(t *testing.T) {
	doc, err := os.ReadFile("../../docs/RESULT-FORMAT.md")
	require.NoError(t, err)
	for _, table := range Tables() {
		_, section, ok := strings.Cut(string(doc), "\n## "+table+".parquet\n")
		require.True(t, ok, "no section on %s", table)
		section, _, _ = strings.Cut(section, "\n## ")
		var have, want []string
		for line := range strings.Lines(section) {
			if cells := strings.Split(line, "|"); len(cells) > 3 && strings.HasPrefix(cells[1], " `") {
				have = append(have, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]))
				require.NotEmpty(t, strings.TrimSpace(cells[3]), line)
			}
		}
		for _, f := range fieldsOf(table) {
			s := fmt.Sprintf("`%s` %s", f.name, [...]string{"int32", "int64", "timestamp", "text", "text", "double"}[f.kind])
			if f.optional {
				s += "?"
			}
			want = append(want, s)
		}
		require.Equal(t, want, have, table)
	}
}

// Documents are what encoding/json makes of a tree, whose keys it sorts.
func TestAppendJSONIsThatOfATree(t *testing.T) {
	for _, raw := range []string{
		`{}`, `[]`, `null`, `true`, `"a<b>&\u2028\ud800é"`, `-1.5e-7`, `9007199254740993`, `""`,
		`{"b":{"z":[1,{"y":[],"x":{}}],"a":[[],{}]},"a":null,"é":"[","":"{","B":[true,false]}`,
		`{"c":1,"b":2,"a":3}`, `[{"b":[{"b":1,"a":"}"}]},{"a":{},"Z":[]}]`, `{"a":[{}],"<":{"b":"]","a":"\\\""}}`,
	} {
		var tree any
		dec := json.NewDecoder(strings.NewReader(raw))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&tree))
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(tree))
		have, err := AppendJSON([]byte("x"), json.RawMessage(raw))
		require.NoError(t, err)
		require.Equal(t, "x"+want.String(), string(have))
	}
	_, err := AppendJSON(nil, map[string]float64{"a": math.NaN()})
	require.ErrorContains(t, err, "NaN")
}
