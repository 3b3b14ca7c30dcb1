package profiles

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// Calibrated says where a figure of a cluster file comes from, and how sure it is. It is for
// readers: a figure counts whether or not one of these tells of it.
type Calibrated struct {
	Key     string  `yaml:"key" unit:"text" doc:"of this file, with the name of the entry in brackets: node_types[h100].gpu_idle_power"`
	Value   string  `yaml:"value" unit:"text" doc:"as it was fitted"`
	Low     string  `yaml:"low" unit:"text" doc:"lower end of its range"`
	High    string  `yaml:"high" unit:"text" doc:"upper end of its range"`
	Range   string  `yaml:"range" unit:"text" doc:"what the range is: an interval of the value, or where most of what was measured lies"`
	N       int64   `yaml:"n" default:"0" min:"0" unit:"number" doc:"how many independent measurements it rests on"`
	Of      string  `yaml:"of" unit:"text" doc:"what they are: GPUs, jobs, pairs of jobs, repairs"`
	From    string  `yaml:"from" unit:"text" doc:"bundles that they are in"`
	Rows    int64   `yaml:"rows" default:"0" min:"0" unit:"rows" doc:"of telemetry, or jobs, that were read for it"`
	Days    float64 `yaml:"days" default:"0" min:"0" unit:"days" doc:"from the first to the last of them"`
	Quality string  `yaml:"quality" unit:"text" doc:"what is left over: the usual distance of a measurement from it"`
	Valid   string  `yaml:"valid" unit:"text" doc:"where it holds"`
}

// Edit is keys to put into one mapping of a file.
type Edit struct {
	Path string // of the mapping, as problems name it: node_types[0]; "" is the file
	YAML string // block of keys with their values
}

// Rewrite puts keys into the text of a file, in place of those of the same name. Everything
// else stays as it is, remarks too.
func Rewrite(file string, text []byte, edits []Edit) ([]byte, error) {
	if _, problem := guarded(file, text); problem != nil {
		return nil, &Error{[]Problem{*problem}}
	}
	lines := bytes.Count(text, []byte("\r\n"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	tree, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, e := range edits {
		at := "$"
		if e.Path != "" {
			at += "." + e.Path
		}
		path, err := yaml.PathString(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, e.Path, err)
		}
		keys, err := parser.ParseBytes([]byte(e.YAML), 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, e.Path, err)
		}
		if _, err := path.FilterFile(tree); yaml.IsNotFoundNodeError(err) && e.Path != "" && !strings.ContainsAny(e.Path, ".[") {
			// a block that the file does not have yet
			if keys, err = parser.ParseBytes([]byte(e.Path+":\n"+indented([]byte(e.YAML), "  ")), 0); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, e.Path, err)
			}
			path, _ = yaml.PathString("$")
		}
		if err := path.MergeFromFile(tree, keys); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, e.Path, err)
		}
	}
	out := []byte(strings.TrimRight(tree.String(), "\n") + "\n")
	if lines > 0 {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	return out, nil
}
