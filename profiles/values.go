package profiles

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// Scalar is a value of a YAML file of a kind that is not ours.
type Scalar struct {
	Path string // of its key: system.nodes_per_rack, system.missing_racks[0]
	Text string
	Line int64
}

// Scalars lists the values of a YAML file whose keys others define, in the order of the file; file is what errors call it.
// Empty values, anchors and what has a tag are passed over. The error is an *Error.
func Scalars(file string, text []byte) ([]Scalar, error) {
	root, problem := guarded(file, text)
	if problem != nil {
		return nil, &Error{[]Problem{*problem}}
	}
	var out []Scalar
	var walk func(n ast.Node, path string)
	pair := func(p *ast.MappingValueNode, path string) {
		if key, ok := word(p.Key); ok {
			walk(p.Value, join(path, key))
		}
	}
	walk = func(n ast.Node, path string) {
		switch n := n.(type) {
		case *ast.MappingNode:
			for _, p := range n.Values {
				pair(p, path)
			}
		case *ast.MappingValueNode:
			pair(n, path)
		case *ast.SequenceNode:
			for i, item := range n.Values {
				walk(item, fmt.Sprintf("%s[%d]", path, i))
			}
		default:
			if text, ok := word(n); ok {
				out = append(out, Scalar{path, text, int64(placeOf(n).line)})
			}
		}
	}
	if root != nil {
		walk(root, "")
	}
	return out, nil
}
