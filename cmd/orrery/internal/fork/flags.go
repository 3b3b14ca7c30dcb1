package fork

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/internal/disk"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/record"
)

// scenarioFlags are those of fork that ask for something.
type scenarioFlags struct {
	profiles        []string
	order, backfill string
	events          []string
	without         []string
	prefer          string
}

// scenario is what the flags ask for at an instant.
func (f *scenarioFlags) scenario(at model.Time) (*profiles.Scenario, error) {
	s := &profiles.Scenario{}
	event := func(kind, value string) {
		e := profiles.NewScenarioEvent(kind)
		e.Time, e.Value = model.Duration(at), value
		s.Events = append(s.Events, e)
	}
	for _, text := range f.profiles {
		vcluster, profile, one := strings.Cut(text, "=")
		if !one {
			vcluster, profile = "", text
		}
		event(profiles.EventProfile, "")
		e := &s.Events[len(s.Events)-1]
		if e.Profile.Name = profile; vcluster != "" {
			e.Subject = profiles.Nodes{vcluster}
		}
	}
	if f.order != "" {
		event(profiles.EventOrder, f.order)
	}
	if f.backfill != "" {
		event(profiles.EventBackfill, f.backfill)
	}
	for _, text := range f.events {
		e, err := profiles.ParseScenarioEvent(text, model.Duration(at))
		if err != nil {
			return nil, cli.Usagef("--event %q: %w", text, err)
		}
		s.Events = append(s.Events, e)
	}
	if err := f.work(s); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	if err := s.Inline("."); err != nil {
		return nil, cli.Coded(cli.ExitUsage, err)
	}
	return s, nil
}

// work reads --without and --counterfactual.
func (f *scenarioFlags) work(s *profiles.Scenario) error {
	for _, text := range f.without {
		key, value, _ := strings.Cut(text, "=")
		switch w := &s.Without; {
		case value == "":
			return cli.Usagef("--without %s: want job=ID, user=NAME or tenant=NAME", text)
		case key == "job":
			id, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return cli.Usagef("--without %s: found %q, want the id of a job, a whole number", text, value)
			}
			w.Jobs = append(w.Jobs, id)
		case key == "user":
			w.Users = append(w.Users, value)
		case key == "tenant":
			w.Tenants = append(w.Tenants, value)
		default:
			return cli.Usagef("--without %s: found the key %q, want job=ID, user=NAME or tenant=NAME", text, key)
		}
	}
	if f.prefer == "" {
		return nil
	}
	id, err := strconv.ParseInt(f.prefer, 10, 64)
	if err != nil {
		return cli.Usagef("--counterfactual %s: want the id of a job, a whole number", f.prefer)
	}
	s.Prefer = &id
	return nil
}

// mostForks bounds how many forks of forks are followed to their log.
const mostForks = 16

// logsOf are the files of the log that a run was of, or the run that it was forked from; none where
// host.json does not say, or one is not there.
func logsOf(dir string) []string {
	for range mostForks {
		if _, logs := formats.ReplayOf(dir); len(logs) > 0 {
			return logs
		}
		args := forkOf(dir)
		if len(args) != 1 {
			return args[min(len(args), 1):]
		}
		dir = args[0]
	}
	return nil
}

// forkOf are the arguments of the fork that made a run, RUN first; none where another verb did, or
// a file is not there.
func forkOf(dir string) []string {
	text, err := disk.ReadFile(filepath.Join(dir, record.FileHost))
	var host struct{ Arguments []string }
	if err != nil || json.Unmarshal(text, &host) != nil || len(host.Arguments) < 2 || host.Arguments[0] != "fork" {
		return nil
	}
	cmd := Command(cli.New())
	if cmd.ParseFlags(host.Arguments[1:]) != nil { // flags of that time
		return nil
	}
	for _, path := range cmd.Flags().Args() {
		if cli.There(path) == nil {
			return nil
		}
	}
	return cmd.Flags().Args()
}

// LogFor is the log that a run is of: what was given, else the sample, else where the run
// says that its log was.
func LogFor(dir, hash string, given []string) ([]string, error) {
	if len(given) > 0 || hash == formats.SampleHash() {
		return given, nil
	}
	if logs := logsOf(dir); len(logs) > 0 {
		return logs, nil
	}
	return nil, cli.Usagef("the run %s is of a log with the hash %.12s, which is not where it was: give the LOG, as in orrery verify --facts %s LOG", dir, hash, cli.Quoted(dir))
}
