package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file, or that deserves a remark.
type Problem struct {
	File    string // "" when the value was built in memory
	Line    int    // from 1, 0 when not known
	Column  int    // from 1, in characters
	Key     string // path of the key, groups[2].type
	Text    string // what was found, what was expected, how to mend it
	Excerpt string // the lines around it with a mark, "" when there are none
}

// String is the problem on one line, without the excerpt.
func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	case p.File != "":
		b.WriteString(p.File + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	return b.String() + p.Text
}

// Error is everything that is wrong with one file, in the order of its lines.
type Error struct{ Problems []Problem }

// maxProblems that one error lists; more are rarely read.
const maxProblems = 20

// maxNoted problems end the search: the file is wrong all over.
const maxNoted = 1000

// Error is one paragraph for each problem.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "and %d more", len(e.Problems)-i)
			break
		}
		b.WriteString(p.String() + "\n" + p.Excerpt)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Joined is what several looks at one file have found, in the order of its lines. A
// later look is not told of a key again, nor of what is around or in it: it has seen
// what an earlier one complains of. Errors that are no *Error are left out. nil when
// nothing is left.
func Joined(looks ...error) error {
	var all []Problem
	for _, err := range looks {
		var found *Error
		if !errors.As(err, &found) {
			continue
		}
		known := len(all)
		for _, p := range found.Problems {
			if !slices.ContainsFunc(all[:known], func(o Problem) bool { return o.File == p.File && touch(o.Key, p.Key) }) {
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	first := all[0].File
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(-cmp.Compare(one(a.File == first), one(b.File == first)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{all}
}

// touch says that two keys are the same, or one is a block around the other.
func touch(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, inside := strings.CutPrefix(b, a)
	return inside && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// place is where a value stands in a file, both from 1.
type place struct{ line, column int }

// source is a file that was read: where each key stands in it. A key that is
// not in the file has no place.
type source struct {
	file  string
	lines []string
	at    map[string]place
}

// has says whether the file sets the key.
func (s *source) has(path string) bool {
	if s == nil {
		return false
	}
	_, ok := s.at[path]
	return ok
}

// problem describes what is wrong with the value at path, or with the nearest
// block around it that is in the file.
func (s *source) problem(path, text string) Problem {
	p := Problem{Key: path, Text: text}
	if s == nil || s.file == "" {
		return p
	}
	p.File = s.file
	for at := path; ; at = parent(at) {
		if w, ok := s.at[at]; ok {
			p.Line, p.Column, p.Excerpt = w.line, w.column, s.excerpt(w)
			return p
		}
		if at == "" { // a file without a key in it
			w := place{1, 1}
			p.Line, p.Column, p.Excerpt = w.line, w.column, s.excerpt(w)
			return p
		}
	}
}

// Wrong is an error about the value at path, settings[2].path, told by its place in the
// file.
func (s *source) Wrong(path, format string, args ...any) error {
	return &Error{[]Problem{s.problem(path, fmt.Sprintf(format, args...))}}
}

// parent is the path of the block around a key: of groups[2].type groups[2],
// of that groups.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), strings.LastIndexByte(path, '['), 0)]
}

// excerpt shows the line before w, the line of w, and a mark under the place.
// Of long lines it shows the part around w.
func (s *source) excerpt(w place) string {
	const width = 100
	from := 0
	if w.column > width-20 {
		from = w.column - width/2
	}
	var b strings.Builder
	for n := max(w.line-1, 1); n <= w.line && n <= len(s.lines); n++ {
		sign, text := ' ', []rune(s.lines[n-1])
		if n == w.line {
			sign = '>'
		}
		if text = text[min(from, len(text)):]; len(text) > width {
			text = append(text[:width:width], '…')
		}
		fmt.Fprintf(&b, "%c %5d | %s\n", sign, n, string(text))
	}
	fmt.Fprintf(&b, "        | %s^\n", strings.Repeat(" ", w.column-1-from))
	return b.String()
}

// problems collects what is wrong with one file.
type problems struct {
	src   *source
	place func(path, text string) Problem // nil where all stands in src
	list  []Problem
}

// add notes a problem with the value at path.
func (p *problems) add(path, format string, args ...any) {
	if len(p.list) == maxNoted {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p.place != nil {
		p.list = append(p.list, p.place(path, text))
		return
	}
	p.list = append(p.list, p.src.problem(path, text))
}

// err is everything noted, in the order of the file, nil when there is nothing.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		if p.src != nil && a.File != b.File { // its own file first
			return cmp.Or(-cmp.Compare(one(a.File == p.src.file), one(b.File == p.src.file)), cmp.Compare(a.File, b.File))
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{p.list}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// oneOf joins words like "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
