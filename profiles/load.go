package profiles

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"orrery/internal/spelling"
)

//go:embed library/*.yaml library/clusters/*.yaml
var library embed.FS

// Default is a profile with every key at its default.
func Default() Profile {
	var p Profile
	setDefaults(reflect.ValueOf(&p).Elem())
	return p
}

// Names lists the profiles that are part of the program, the balanced default
// first.
func Names() []string {
	entries, err := library.ReadDir("library")
	if err != nil {
		panic(err) // it is part of the program
	}
	names := []string{"default"}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".yaml"); name != "default" && !e.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// Load reads the profile that is part of the program under this name, or else
// the file at this path.
func Load(nameOrPath string) (Profile, error) {
	if slices.Contains(Names(), nameOrPath) {
		text, err := library.ReadFile("library/" + nameOrPath + ".yaml")
		if err != nil {
			return Profile{}, err
		}
		return Parse(nameOrPath, text)
	}
	text, err := read(nameOrPath)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(nameOrPath, `./\`) {
		return Profile{}, fmt.Errorf("there is no profile %q%s: want one of %s, or the path of a file", nameOrPath, spelling.Hint(nameOrPath, Names()), oneOf(Names()))
	}
	if err != nil {
		return Profile{}, err
	}
	return Parse(nameOrPath, text)
}

// read reads a file that is not larger than a file of this kind may be.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, &Error{[]Problem{{File: path, Text: fmt.Sprintf("a file of %d bytes, want at most %d: take nodes and tenants from the tables of a trace", info.Size(), maxFile)}}}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1)) // pipes and devices have no size
	if err == nil && len(text) > maxFile {
		return nil, &Error{[]Problem{{File: path, Text: fmt.Sprintf("it goes on after %d bytes, want at most so many", maxFile)}}}
	}
	return text, err
}

// nameOf names what a file describes, where its text does not: the file without its
// folder and its ending.
func nameOf(file string) string {
	return strings.TrimSuffix(filepath.Base(filepath.ToSlash(file)), filepath.Ext(file))
}

// Parse reads a profile; file is what errors call it, and names the profile
// when the text does not. The error is an *Error that lists every problem.
func Parse(file string, text []byte) (Profile, error) {
	var p Profile
	src, err := decode(file, text, &p)
	if err != nil {
		return Profile{}, cmp.Or(otherKind(file, text, KindProfile), err)
	}
	p.src = src
	if p.Name == "" {
		p.Name = nameOf(file)
	}
	if err := p.Validate(); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// Validate says everything that is wrong with p as one *Error, nil when
// nothing is.
func (p *Profile) Validate() error {
	c := p.checker()
	c.check()
	p.rules(c)
	return c.err()
}

func (p *Profile) checker() *checker {
	return &checker{problems{src: p.src}, reflect.ValueOf(p).Elem(), p.base}
}

// rules are those that tie several keys together.
func (p *Profile) rules(c *checker) {
	if why := goodName(p.Name); why != "" && p.Name != "" {
		c.add(join(p.base, "name"), "%s", why)
	}
	if p.Mode == "as-coded" && p.Order != "score" {
		c.add(join(p.base, "order"), "found %s, but the as-coded mode orders by score only: leave it out, or use mode: documented", p.Order)
	}
	if _, err := p.scoreWeights(); p.Order == "score" && err != nil {
		c.add(join(p.base, "weights"), "%v", err)
	}
	if p.Cycle > 0 && p.Phase != nil && *p.Phase >= p.Cycle {
		c.add(join(p.base, "phase"), "found %s, want less than the cycle of %s", formatSpan(*p.Phase), formatSpan(p.Cycle))
	}
	if p.BFResolution > 0 && p.BFWindow > 0 && p.BFResolution > p.BFWindow {
		c.add(join(p.base, "bf_resolution"), "found %s, want at most bf_window, %s", formatSpan(p.BFResolution), formatSpan(p.BFWindow))
	}
}

// JSON is the canonical form for inlining in a spec: defaults and remarks left
// out, keys in their documented order, each value in its one spelling. Parse
// reads it back. Equal bytes mean equal schedules.
func (p *Profile) JSON() []byte { return canonical(reflect.ValueOf(p).Elem()) }

// FullJSON holds every key that applies, defaults included.
func (p *Profile) FullJSON() []byte {
	w := jsonWriter{applies: p.applies()}
	w.object(reflect.ValueOf(p).Elem())
	return w.b.Bytes()
}

// YAML prints every key that applies, defaults included. Parse reads it back.
func (p *Profile) YAML() []byte {
	w := yamlWriter{applies: p.applies()}
	w.block(reflect.ValueOf(p).Elem(), "", false)
	return []byte(w.b.String())
}

// briefYAML is YAML without the keys that are at their default.
func (p *Profile) briefYAML() []byte {
	w := yamlWriter{applies: p.applies(), brief: true}
	w.block(reflect.ValueOf(p).Elem(), "", false)
	return []byte(w.b.String())
}

// applies says which keys have an effect in p.
func (p *Profile) applies() func(field) bool {
	c := p.checker()
	return func(f field) bool { return c.inert(f) == "" }
}
