package transform

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/spelling"
)

// version is raised whenever the same recipe and inputs make other rows.
const version = 1

// Recipe is what is done to a trace, in order.
type Recipe []Step

// Step is a verb with its arguments, as people write it:
//
//	window begin=30d length=7d warm=true
//	filter user=alice,bob runtime>=1h
//
// A word is KEY OP VALUE without spaces around the operator, one of = != < <= >
// >=. A value with spaces stands in double quotes, with Go's escapes.
type Step struct {
	Name string
	Args []Arg
}

// Arg is one argument of a step.
type Arg struct{ Key, Op, Value string }

// operators, those that begin with another first.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

// ParseRecipe reads a recipe: a step on each line; empty lines and what follows
// a # at the beginning of a line or after a space count for nothing.
func ParseRecipe(text string) (Recipe, error) {
	var r Recipe
	for i, line := range strings.Split(text, "\n") {
		words, err := split(strings.TrimSuffix(line, "\r"))
		if err != nil {
			return nil, fmt.Errorf("line %d of the recipe: %w", i+1, err)
		}
		if len(words) == 0 {
			continue
		}
		s, err := stepOf(words)
		if err != nil {
			return nil, fmt.Errorf("line %d of the recipe: %w", i+1, err)
		}
		r = append(r, s)
	}
	return r, r.Validate()
}

// ParseStep reads one step.
func ParseStep(text string) (Step, error) {
	words, err := split(text)
	if err != nil {
		return Step{}, fmt.Errorf("step %q: %w", text, err)
	}
	if len(words) == 0 {
		return Step{}, fmt.Errorf("an empty step: want one of %s", strings.Join(StepNames(), ", "))
	}
	s, err := stepOf(words)
	if err != nil {
		return Step{}, fmt.Errorf("step %q: %w", text, err)
	}
	return s, Recipe{s}.Validate()
}

// split cuts a line into words; quotes keep spaces together.
func split(line string) (words []string, err error) {
	for rest := strings.TrimLeft(line, " \t"); rest != "" && rest[0] != '#'; rest = strings.TrimLeft(rest, " \t") {
		i := strings.IndexAny(rest, " \t\"")
		if i < 0 {
			return append(words, rest), nil
		}
		if rest[i] != '"' {
			words, rest = append(words, rest[:i]), rest[i:]
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest[i:])
		if err != nil {
			return nil, fmt.Errorf("a quotation that does not end, or an unknown escape, in %s", rest)
		}
		end := i + len(quoted)
		if end < len(rest) && rest[end] != ' ' && rest[end] != '\t' {
			return nil, fmt.Errorf("text after a quotation in %s: leave a space", rest)
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	return words, nil
}

func stepOf(words []string) (Step, error) {
	s := Step{Name: words[0]}
	for _, w := range words[1:] {
		a, err := argOf(w)
		if err != nil {
			return s, err
		}
		s.Args = append(s.Args, a)
	}
	return s, nil
}

func argOf(w string) (Arg, error) {
	at := strings.IndexAny(w, "=!<>")
	if at < 1 {
		return Arg{}, fmt.Errorf("%q: want KEY=VALUE", w)
	}
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(w[at:], op) })
	if i < 0 {
		return Arg{}, fmt.Errorf("%q: want KEY=VALUE", w)
	}
	a := Arg{Key: w[:at], Op: operators[i], Value: w[at+len(operators[i]):]}
	if strings.Contains(a.Key, `"`) {
		return a, fmt.Errorf("%q: a quotation mark in a key", w)
	}
	if strings.HasPrefix(a.Value, `"`) {
		var err error
		if a.Value, err = strconv.Unquote(a.Value); err != nil {
			return a, fmt.Errorf("%q: %w", w, err)
		}
	} else if strings.Contains(a.Value, `"`) {
		return a, fmt.Errorf("%q: a quotation mark inside a value: quote the whole value", w)
	}
	return a, nil
}

// String is the step as ParseStep reads it.
func (s Step) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	for _, a := range s.Args {
		v := a.Value
		if strings.ContainsAny(v, " \t\"\\") || v != strings.Trim(strconv.Quote(v), `"`) {
			v = strconv.Quote(v)
		}
		b.WriteString(" " + a.Key + a.Op + v)
	}
	return b.String()
}

// Validate checks every step: its name, its arguments, their values.
func (r Recipe) Validate() error {
	for i := range r {
		if _, err := r[i].compile(); err != nil {
			return err
		}
	}
	return nil
}

// step is one that is ready to run.
type step interface {
	apply(in *Set, a *Account, open Opener) (*Set, error)
}

// Opener opens another trace by the name that a recipe has for it.
type Opener func(name string) (*Set, error)

var compilers = map[string]func(*params) step{
	"window": newWindow, "filter": newFilter, "map": newMapping, "load": newLoad, "stretch": newStretch,
	"jitter": newJitter, "resample": newResample, "merge": newMerge, "anonymise": newAnonymise, "drop": newDrop, "event": newEvent,
}

// renamed are the names that steps had in earlier versions, with those of today.
var renamed = map[string]string{"shake": "jitter"}

// Renewed is the recipe with the names that its steps have today, and a remark on each
// step that has another name.
func (r Recipe) Renewed() (out Recipe, remarks []string) {
	out = slices.Clone(r)
	for i := range out {
		if name, ok := renamed[out[i].Name]; ok {
			remarks = append(remarks, fmt.Sprintf("the step %s is called %s now: write %s in its place", out[i].Name, name, name))
			out[i].Name = name
		}
	}
	return out, remarks
}

// StepNames lists the steps.
func StepNames() []string {
	return []string{"window", "filter", "map", "load", "stretch", "jitter", "resample", "merge", "anonymise", "drop", "event"}
}

func (s Step) compile() (step, error) {
	make, ok := compilers[cmp.Or(renamed[s.Name], s.Name)]
	if !ok {
		return nil, fmt.Errorf("unknown step %q%s: want one of %s", s.Name, spelling.Hint(s.Name, StepNames()), strings.Join(StepNames(), ", "))
	}
	p := &params{step: s}
	c := make(p)
	if err := p.done(); err != nil {
		return nil, fmt.Errorf("step %q: %w", s.String(), err)
	}
	return c, nil
}

// Apply runs the recipe. Nothing is read but what a step must know beforehand;
// the rows are made when they are asked for. open may be nil when no step names
// another trace.
func (s *Set) Apply(r Recipe, open Opener) (*Set, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	out := s
	for i := range r {
		c, err := r[i].compile()
		if err != nil {
			return nil, err
		}
		a := &Account{Step: r[i].String()}
		in := *out
		next, err := c.apply(&in, a, open)
		if err != nil {
			return nil, fmt.Errorf("step %q: %w", r[i].String(), err)
		}
		next.steps = append(slices.Clone(next.steps), a.Step)
		next.accounts = append(append(slices.Clone(next.accounts), a), next.pending...)
		next.pending = nil
		out = next
	}
	return out, nil
}
