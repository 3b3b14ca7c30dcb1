package transform

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"orrery/traces"
)

// anonymise puts other names for people and their work: numbers in the order of
// first appearance, or with a key the beginning of an HMAC of the name, which is
// the same in every trace with that key. The column extra, the names of the
// source and the recipes made so far are removed, for they may hold names too.
type anonymise struct {
	columns []traces.JobField
	service bool // names of services, in the load table
	key     string
}

// serviceNames stands among the columns for the names of services.
const serviceNames = "service"

// personal are the columns that name people and their work. What names parts of
// the site (vcluster, partition, qos, nodes) stays: a replay needs it.
var personal = []string{"name", "user", "tenant", "account", "group", "dag", "reservation", serviceNames}

func newAnonymise(p *params) step {
	s := anonymise{}
	s.key, _ = p.get("key")
	names := p.list("columns")
	if names == nil {
		names = personal
	}
	for _, name := range names {
		if name == serviceNames {
			s.service = true
			continue
		}
		f, ok := traces.JobFieldOf(name)
		if !ok || f.Column().Type != traces.String || !f.Column().Optional {
			p.fail("columns=%s: want columns of text of the jobs table, or service", name)
			break
		}
		s.columns = append(s.columns, f)
	}
	return s
}

// alias gives names of one column their aliases.
type alias struct {
	column, key string
	names       map[string]string
}

func (s *alias) of(name string) string {
	if name == "" {
		return ""
	}
	out, ok := s.names[name]
	if ok {
		return out
	}
	out = s.column + strconv.Itoa(len(s.names)+1)
	if s.key != "" {
		h := hmac.New(sha256.New, []byte(s.key))
		h.Write([]byte(s.column + ":" + name))
		out = s.column + "-" + hex.EncodeToString(h.Sum(nil)[:8])
	}
	s.names[name] = out
	return out
}

func (s anonymise) apply(in *Set, a *Account, _ Opener) (*Set, error) {
	out := *in
	out.conceal(a)
	aliases := make([]alias, len(s.columns))
	for i, f := range s.columns {
		aliases[i] = alias{f.Column().Name, s.key, map[string]string{}}
		switch f.Column().Name {
		case "tenant":
			out.rename("tenant", aliases[i].of, a)
		case "vcluster":
			out.rename("vcluster", aliases[i].of, a)
		case "reservation":
			out.Events = slices.Clone(out.Events)
			for k := range out.Events {
				if e := &out.Events[k]; e.Kind == "reservation" {
					e.Subject = aliases[i].of(e.Subject)
				}
			}
		}
	}
	out.Events = slices.DeleteFunc(slices.Clone(out.Events), func(e traces.Event) bool { return e.Kind == "capture" }) // serial numbers, boot parameters
	out.Rows = out.edit(a, func(j *traces.Job) bool {
		for i, f := range s.columns {
			if was := f.Text(j); was != "" {
				f.SetText(j, aliases[i].of(was))
				a.change(f.Column().Name+" changed", j.ID)
			}
		}
		if j.Extra != "" {
			j.Extra = ""
			a.change("extra removed", j.ID)
		}
		return true
	})
	var service func(string) string
	if s.service {
		service = (&alias{serviceNames, s.key, map[string]string{}}).of
	}
	out.concealTables(service, a)
	return &out, nil
}

// conceal removes what the trace says of where it comes from, but for hashes.
func (s *Set) conceal(a *Account) {
	s.Name, s.Meta.Source, s.Meta.Import = "anonymised", "anonymised", ""
	s.inputs = slices.Clone(s.inputs)
	for i := range s.inputs {
		s.inputs[i].Name, s.inputs[i].Recipe = "", nil
	}
	before := s.document(nil)
	s.steps, s.accounts = nil, nil
	if len(before.Steps) > 0 {
		s.inputs = []Input{{Hash: before.Hash}}
		a.note("the steps before are kept as the hash of their recipe")
	}
	name, _, _ := strings.Cut(a.Step, " ")
	words := []string{name}
	step, err := ParseStep(a.Step)
	for _, arg := range step.Args {
		if arg.Key != "key" && err == nil {
			words = append(words, arg.Key+arg.Op+arg.Value)
		}
	}
	a.Step = strings.Join(words, " ")
}
