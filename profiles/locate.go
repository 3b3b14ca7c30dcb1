package profiles

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// place describes what is wrong with the key at path where it stands: in the
// cluster file, or in the file of the profile that a vCluster names. Of profiles
// that are part of the program it shows the line that names them.
func (c *Cluster) place(path, text string) Problem {
	if from := c.from[root(path)]; from != "" {
		return Problem{File: from, Key: path, Text: text}
	}
	i, rest := inProfile(path)
	if i < 0 || i >= len(c.VClusters) {
		return c.src.problem(path, text)
	}
	p := c.VClusters[i].Profile.Inline
	if p == nil || p.src == nil || p.src == c.src || slices.Contains(Names(), p.src.file) {
		return c.src.problem(path, text)
	}
	for at := rest; at != ""; at = parent(at) {
		if p.src.has(at) {
			return p.src.problem(rest, text)
		}
	}
	return c.src.problem(path, text)
}

// root is the first key of a path.
func root(path string) string {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}

// inProfile takes vclusters[i].profile.rest apart; i is -1 for other paths.
func inProfile(path string) (i int, rest string) {
	text, ok := strings.CutPrefix(path, "vclusters[")
	number, rest, inside := strings.Cut(text, "].profile.")
	i, err := strconv.Atoi(number)
	if !ok || !inside || err != nil {
		return -1, ""
	}
	return i, rest
}

// Locate is an error about the canonical form of c told by the files that c was
// read from: each problem stands where its key does there. Errors of another kind
// are left alone.
func (c *Cluster) Locate(err error) error {
	var found *Error
	if !errors.As(err, &found) {
		return err
	}
	all := problems{src: c.src}
	for _, p := range found.Problems {
		if p.Line > 0 || p.File == "" {
			p = c.place(p.Key, p.Text)
		}
		all.list = append(all.list, p)
	}
	return all.err()
}

// UseProfile gives vCluster i the profile of this name or path, instead of what
// the file says.
func (c *Cluster) UseProfile(i int, nameOrPath string) error {
	p, err := Load(nameOrPath)
	if err != nil {
		return err
	}
	c.VClusters[i].Profile = ProfileRef{Inline: &p}
	if c.src == nil {
		return nil
	}
	at := fmt.Sprintf("vclusters[%d].profile", i)
	places := maps.Clone(c.src.at)
	maps.DeleteFunc(places, func(key string, _ place) bool { return key == at || strings.HasPrefix(key, at+".") })
	c.src = &source{file: c.src.file, lines: c.src.lines, at: places}
	return nil
}

// WithTenants is c with the tenants of a table instead of its own; from names the
// table in errors.
func (c *Cluster) WithTenants(from string, tenants []Tenant) *Cluster {
	with := c.taking("tenants", from)
	with.Tenants = tenants
	return with
}

// taking is a copy of c that has a key from elsewhere.
func (c *Cluster) taking(key, from string) *Cluster {
	with := *c
	if with.from = maps.Clone(c.from); with.from == nil {
		with.from = map[string]string{}
	}
	with.from[key] = from
	return &with
}

// NewVCluster is a vCluster with every key but its name and home at its default.
func NewVCluster(name string, home Nodes) VCluster {
	var v VCluster
	setDefaults(reflect.ValueOf(&v).Elem())
	v.Name, v.Home = name, home
	return v
}
