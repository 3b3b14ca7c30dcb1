package profiles

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"orrery/internal/spelling"
)

// decoder fills a struct from a parsed file. It is strict: each key must exist,
// each value must be of its kind, and nothing is said twice.
type decoder struct {
	src *source
	problems
}

// decode reads text into the struct that into points to, on top of the
// defaults, and returns where everything stands. The error lists all problems.
func decode(file string, text []byte, into any) (*source, error) {
	src := &source{file: file, at: map[string]place{}}
	d := &decoder{src: src, problems: problems{src: src}}
	src.lines = strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	root, problem := guarded(file, text)
	if problem != nil {
		if problem.Line > 0 {
			problem.Excerpt = src.excerpt(place{problem.Line, problem.Column})
		}
		return nil, &Error{[]Problem{*problem}}
	}
	v := reflect.ValueOf(into).Elem()
	setDefaults(v)
	if root != nil {
		d.mark("", root)
		d.block(root, v, "")
	}
	return src, d.err()
}

// guarded is parse for a text that may be anything.
func guarded(file string, text []byte) (ast.Node, *Problem) {
	if line, why := tooWild(text); why != "" {
		return nil, &Problem{File: file, Line: line, Column: min(line, 1), Text: why}
	}
	return parse(file, text)
}

// parse turns text into a tree. The parser is not ours: what it cannot stand
// must not end the program.
func parse(file string, text []byte) (root ast.Node, problem *Problem) {
	defer func() {
		if p := recover(); p != nil {
			root, problem = nil, &Problem{File: file, Line: 1, Column: 1, Text: "is not YAML that can be read"}
		}
	}()
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		problem = &Problem{File: file, Line: 1, Column: 1, Text: "not valid YAML: " + err.Error()}
		var located yaml.Error
		if errors.As(err, &located) {
			problem.Text = "not valid YAML: " + located.GetMessage()
			if strings.Contains(problem.Text, "'\t'") || strings.Contains(problem.Text, "'	'") {
				problem.Text = "found a tab, want spaces: YAML is indented by spaces alone"
			}
			if strings.Contains(problem.Text, "already defined") {
				problem.Text += ": leave one of them out"
			}
			if t := located.GetToken(); t != nil && t.Position != nil {
				problem.Line, problem.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
			}
		}
		return nil, problem
	}
	for _, doc := range tree.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.DirectiveNode:
		default:
			if root != nil {
				at := placeOf(body)
				return nil, &Problem{File: file, Line: at.line, Column: at.column, Text: "a second YAML document begins here, want one: split the file at ---"}
			}
			root = body
		}
	}
	return root, nil
}

// mark notes where the value at path stands.
func (d *decoder) mark(path string, n ast.Node) {
	d.src.at[path] = placeOf(n)
}

func placeOf(n ast.Node) place {
	if t := first(n); t != nil && t.Position != nil {
		return place{max(t.Position.Line, 1), max(t.Position.Column, 1)}
	}
	return place{1, 1}
}

// first is the token at which a value begins.
func first(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return first(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return first(n.Key)
	}
	return n.GetToken()
}

// pairs are the keys of a block, in the order of the file.
func (d *decoder) pairs(n ast.Node, path string) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	d.add(path, "found %s, want a block of keys", describe(n))
	return nil, false
}

// block reads the keys of a struct.
func (d *decoder) block(n ast.Node, v reflect.Value, path string) {
	pairs, ok := d.pairs(n, path)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, pair := range pairs {
		if len(d.problems.list) == maxNoted {
			return
		}
		key, ok := word(pair.Key)
		at := join(path, key)
		if !ok {
			d.mark(at, pair.Key)
			d.add(at, "a key must be one plain word; anchors and merged keys are not supported")
			continue
		}
		f, known := findField(fields, key)
		switch {
		case !known:
			d.mark(at, pair.Key)
			value, _ := word(pair.Value)
			if was := retirement(v.Type(), key, value); was != "" {
				d.add(at, "%s", was)
				continue
			}
			d.add(at, "there is no such key%s: %s", spelling.Hint(key, keysIn(fields)), d.allowed(path, fields))
		case d.src.has(at):
			d.mark(at, pair.Key)
			d.add(at, "is there twice: leave one out")
		default:
			if _, list := pair.Value.(*ast.SequenceNode); list && f.tag("list") != "" {
				if f, _ = findField(fields, f.tag("list")); d.src.has(join(path, f.key)) {
					d.mark(at, pair.Value)
					d.add(at, "is a list beside %s: leave one out", f.key)
					continue
				}
				at = join(path, f.key)
			}
			d.mark(at, pair.Value)
			d.value(pair.Value, v.FieldByIndex(f.Index), at, f)
		}
	}
}

func (d *decoder) allowed(path string, fields []field) string {
	where := "here"
	if path != "" {
		where = "in " + path
	}
	return "the keys " + where + " are " + oneOf(keysIn(fields))
}

func findField(fields []field, key string) (field, bool) {
	for _, f := range fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

func keysIn(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.key
	}
	return out
}

// value reads one value of a key.
func (d *decoder) value(n ast.Node, v reflect.Value, path string, f field) {
	switch kindOf(v.Type()) {
	case aBlock:
		v.SetZero()
		for _, sub := range fieldsOf(v.Type()) {
			setDefault(v.FieldByIndex(sub.Index), sub)
		}
		d.block(n, v, path)
	case blocks:
		d.list(n, v, path, func(item ast.Node, x reflect.Value, at string) {
			setDefaults(x)
			d.block(item, x, at)
		})
	case aList, aTable:
		var of field
		if f.tag("any") != "" { // numbers may stand for texts in it
			of.tags = map[string]string{"any": "value"}
		}
		d.list(n, v, path, func(item ast.Node, x reflect.Value, at string) { d.value(item, x, at, of) })
	case aNodes:
		d.nodes(n, v, path)
	case aRef:
		d.ref(n, v, path)
	default:
		text, ok := word(n)
		if !ok {
			d.add(path, "found %s, want %s", describe(n), kindNames[kindOf(v.Type())])
			return
		}
		if err := d.scalar(n, text, v, f); err != nil {
			d.add(path, "%v", err)
		}
	}
}

// scalar refuses what only looks like a value of the kind: a number in quotes,
// a number for a word.
func (d *decoder) scalar(n ast.Node, text string, v reflect.Value, f field) error {
	_, quoted := n.(*ast.StringNode)
	quoted = quoted && n.GetToken().Type != token.StringType
	switch kindOf(v.Type()) {
	case aBool, aWhole, aNumber:
		if quoted && text != f.tag("zero") {
			return fmt.Errorf("found the text %q, want %s: leave the quotes out", text, kindNames[kindOf(v.Type())])
		}
	case aText:
		switch n.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			if f.words() == nil && f.tag("any") == "" {
				return fmt.Errorf("found %s, want text: put it in quotes", text)
			}
		}
	}
	return parseScalar(text, v, f)
}

// list reads a list into a slice, item by item.
func (d *decoder) list(n ast.Node, v reflect.Value, path string, read func(ast.Node, reflect.Value, string)) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.add(path, "found %s, want a list", describe(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.mark(at, item)
		read(item, out.Index(i), at)
	}
	v.Set(out)
}

// nodes reads one term or a list of terms.
func (d *decoder) nodes(n ast.Node, v reflect.Value, path string) {
	items := []ast.Node{n}
	if seq, ok := n.(*ast.SequenceNode); ok {
		items = seq.Values
	}
	out := make(Nodes, 0, len(items))
	for i, item := range items {
		at := path
		if len(items) > 1 {
			at = fmt.Sprintf("%s[%d]", path, i)
			d.mark(at, item)
		}
		text, ok := word(item)
		if !ok {
			d.add(at, "found %s, want a number of nodes, names like n[001-256], or a list of them", describe(item))
			return
		}
		if why := notCounted(item, text); why != "" {
			d.add(at, "%s", why)
			return
		}
		out = append(out, text)
	}
	v.Set(reflect.ValueOf(out))
}

// notCounted says why a term of nodes that looks like a number is none in plain digits: it would be the name of a node. In
// quotes it may be one.
func notCounted(n ast.Node, text string) string {
	_, counts := count(text)
	quoted := n.GetToken().Type == token.SingleQuoteType || n.GetToken().Type == token.DoubleQuoteType
	if counts && !octalLike(text) || !counts && quoted || !numeric(text) {
		return ""
	}
	name := ""
	if !counts {
		name = "; put it in quotes if it is the name of a node"
	}
	return fmt.Sprintf("found %s, want a number of nodes in digits, or names like n[001-256]%s%s", text, InDigits(text), name)
}

// ref reads the name of a profile, or a profile.
func (d *decoder) ref(n ast.Node, v reflect.Value, path string) {
	if text, ok := word(n); ok {
		v.Set(reflect.ValueOf(ProfileRef{Name: text}))
		return
	}
	p := Profile{src: d.src, base: path}
	x := reflect.ValueOf(&p).Elem()
	setDefaults(x)
	d.block(n, x, path)
	v.Set(reflect.ValueOf(ProfileRef{Inline: &p}))
}

// word is the text of a plain or quoted value.
func word(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a block of keys"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias, which are not supported"
	case *ast.TagNode:
		return "a tag, which are not supported"
	}
	if text, ok := word(n); ok && len(text) < 40 {
		return fmt.Sprintf("%q", text)
	}
	return "a value"
}

// MaxText is how many bytes a cluster in a spec has at most, which may have the nodes and tenants
// of a trace beside what its file says.
const MaxText = 16 << 20

// Limits of a file, so that no file costs more than its size: the parser
// descends once for each level.
const (
	maxFile   = 4 << 20 // bytes
	maxIndent = 200     // columns
	maxDepth  = 60      // levels opened on one line, or by brackets
)

// bare says whether there is nothing but space, or a remark, to the end of the line.
func bare(rest []byte) bool {
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// tooWild says why a text is not even parsed, and in which line (0 where it is
// about the whole file); "" when it is.
func tooWild(text []byte) (int, string) {
	switch {
	case len(text) > MaxText:
		return 0, fmt.Sprintf("a text of %d bytes, want at most %d", len(text), MaxText)
	case !utf8.Valid(text):
		line := 1
		for part := range bytes.Lines(text) {
			if !utf8.Valid(part) {
				break
			}
			line++
		}
		return line, "found a byte that is not UTF-8 text: save the file as UTF-8"
	}
	open, line, indent := 0, 1, 0
	start := true // nothing but indentation and dashes so far
	for i, c := range text {
		switch c {
		case '\n':
			line, indent, start = line+1, 0, true
			continue
		case '\r', 0:
			if c == 0 {
				return line, "found a zero byte, want a YAML file: save it as plain text"
			}
		case '{', '[':
			open++
		case '}', ']':
			open = max(open-1, 0)
		}
		if start && c == '\t' && !bare(text[i:]) {
			return line, "found a tab at the beginning of the line, want spaces: YAML is indented by spaces alone"
		}
		if start = start && (c == ' ' || c == '-'); start {
			indent++
		}
		if indent > maxIndent || open > maxDepth {
			return line, fmt.Sprintf("is nested too deeply to be a file of this kind: want at most %d columns of indentation and %d brackets", maxIndent, maxDepth)
		}
	}
	return 0, ""
}
