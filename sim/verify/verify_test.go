package verify

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/commitlog"
	"orrery/sim/record"
)

// recorded is a run of two jobs, numbered 11 and 12 by their log, whose files
// and events a test alters.
func recorded(files map[string]string, events ...any) Recorded {
	all := fstest.MapFS{
		"run.json":     {Data: []byte(`{"fingerprint":"aa","version":"1"}`)},
		"jobs.parquet": {Data: []byte("jobs")},
		"host.json":    {Data: []byte("one machine")},
	}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
		if text == "" {
			delete(all, name)
		}
	}
	jobs := record.NewMemory()
	jobs.Job(&model.JobRecord{Job: 0, ID: 11})
	jobs.Job(&model.JobRecord{Job: 1, ID: 12})
	return Recorded{Files: all, Epoch: 60_000_000, Jobs: jobs, Log: func(yield func(*commitlog.Entry, error) bool) {
		for _, e := range events {
			switch e := e.(type) {
			case error:
				yield(nil, e)
				return
			case commitlog.Entry:
				if !yield(&e, nil) {
					return
				}
			}
		}
	}}
}

var (
	first  = commitlog.Entry{What: commitlog.Fact, Now: 5_000_000, Fact: model.Fact{Kind: model.FactSubmitted, Request: model.Request{Units: 4}}}
	second = assigned(0)
	other  = assigned(1)
)

func assigned(job model.JobID) commitlog.Entry {
	return commitlog.Entry{What: commitlog.Fact, Now: 6_500_000, Fact: model.Fact{
		Kind: model.FactAssigned, Job: job, Seq: 1, Placement: &model.Placement{Words: []model.NodeWord{{Mask: 0b10000111}}},
	}}
}

func TestVerifyEqualRuns(t *testing.T) {
	v, err := Compare(recorded(map[string]string{"host.json": "another"}), recorded(nil), false)
	require.NoError(t, err)
	require.True(t, v.Equal())
	require.Equal(t, []VerifiedFile{{Name: "jobs.parquet", Bytes: 4, Equal: true}, {Name: "run.json", Bytes: 34, Equal: true}}, v.Files)
}

func TestVerifyNamesTheFirstDivergence(t *testing.T) {
	a := recorded(nil, first, second)
	for name, c := range map[string]struct {
		b    Recorded
		want [2]string
	}{
		"another job": {
			recorded(map[string]string{"jobs.parquet": "jots"}, first, other),
			[2]string{"at 00:00:06.5 job 11 assigned on nodes 0-2,7 (row 0, proposal 1)", "at 00:00:06.5 job 12 assigned on nodes 0-2,7 (row 1, proposal 1)"},
		},
		"a log that ends early": {
			recorded(map[string]string{"jobs.parquet": "jo"}, first),
			[2]string{"at 00:00:06.5 job 11 assigned on nodes 0-2,7 (row 0, proposal 1)", "nothing: its log has ended"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Compare(a, c.b, false)
			require.NoError(t, err)
			require.False(t, v.Equal())
			require.Equal(t, VerifiedFile{Name: "jobs.parquet", Bytes: 2}, v.Files[0])
			require.Equal(t, int64(1), v.Divergence.Index)
			require.Equal(t, c.want, [2]string{v.Divergence.Sides[0].String(), v.Divergence.Sides[1].String()})
		})
	}
}

func TestVerifyFilesThatOnlyOneRunHas(t *testing.T) {
	for _, swap := range []bool{false, true} {
		a, b := recorded(nil, first), recorded(map[string]string{"facts.parquet": "facts"}, first)
		if swap {
			a, b = b, a
		}
		v, err := Compare(a, b, false)
		require.NoError(t, err)
		require.False(t, v.Equal())
		require.Nil(t, v.Divergence) // the logs are equal
		require.Equal(t, VerifiedFile{Name: "facts.parquet"}, v.Files[0])
	}
}

func TestVerifyVersions(t *testing.T) {
	a := recorded(map[string]string{"run.json": `{"digest":"d1","fingerprint":"aa","version":"1"}`})
	b := recorded(map[string]string{"run.json": `{"digest":"d2","version":"2","fingerprint":"aa"}`})
	v, err := Compare(a, b, true)
	require.NoError(t, err)
	require.True(t, v.Equal())
	v, err = Compare(a, b, false)
	require.NoError(t, err)
	require.False(t, v.Equal())

	b = recorded(map[string]string{"run.json": `{"version":"1","fingerprint":"bb"}`})
	v, err = Compare(a, b, true)
	require.NoError(t, err)
	require.Equal(t, [2]string{"aa", "bb"}, v.Fingerprints)
	require.False(t, v.Equal())
}

func TestVerifyRefusesWhatIsNoRun(t *testing.T) {
	for _, text := range []string{"", "{", `{"fingerprint":7}`} {
		_, err := Compare(recorded(nil), recorded(map[string]string{"run.json": text}), false)
		require.ErrorContains(t, err, "run.json")
	}
	bad := recorded(map[string]string{"jobs.parquet": "x"}, errors.New("no such entry"))
	_, err := Compare(recorded(nil, first), bad, false)
	require.ErrorContains(t, err, "entry 0")
}

// TestVerifyLongFiles looks beyond the first chunk that is read.
func TestVerifyLongFiles(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, at := range []int{0, 65_535, 65_536, 131_072, 199_999} {
		changed := long[:at] + "y" + long[at+1:]
		v, err := Compare(recorded(map[string]string{"jobs.parquet": long}), recorded(map[string]string{"jobs.parquet": changed}), false)
		require.NoError(t, err)
		require.Equal(t, VerifiedFile{Name: "jobs.parquet", Bytes: int64(at)}, v.Files[0])
	}
	v, err := Compare(recorded(map[string]string{"jobs.parquet": long[:131_072]}), recorded(map[string]string{"jobs.parquet": long}), false)
	require.NoError(t, err)
	require.Equal(t, VerifiedFile{Name: "jobs.parquet", Bytes: 131_072}, v.Files[0])
}
