package format

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

// Local times around the changes of clocks, against instants worked out by hand.
func TestClock(t *testing.T) {
	berlin, lordHowe := zone(t, "Europe/Berlin"), zone(t, "Australia/Lord_Howe")
	for _, c := range []struct {
		text, want string
		zone       *time.Location
		rules      []string
	}{
		{"2023-11-16 18:17:03.9799601", "2023-11-16T18:17:03.97996Z", time.UTC, []string{RuleRounded}},
		{"2023-11-16 18:17:03.979960", "2023-11-16T18:17:03.97996Z", time.UTC, nil},
		{"2023-11-16T18:17:03+05:30", "2023-11-16T12:47:03Z", nil, nil},
		{"2023-11-16 18:17:03 -0800", "2023-11-17T02:17:03Z", berlin, nil},
		{"2023-07-01", "2023-06-30T22:00:00Z", berlin, nil},
		{"2023/01/01 12:00:00", "2023-01-01T11:00:00Z", berlin, nil},
		{"2023-03-26 01:59:59", "2023-03-26T00:59:59Z", berlin, nil},
		{"2023-03-26 02:30:00", "2023-03-26T01:30:00Z", berlin, []string{RuleNonexistent}},
		{"2023-10-29 01:59:59", "2023-10-28T23:59:59Z", berlin, nil},
		{"2023-10-29 02:00:00", "2023-10-29T00:00:00Z", berlin, []string{RuleAmbiguous}},
		{"2023-10-29 02:59:59", "2023-10-29T00:59:59Z", berlin, []string{RuleAmbiguous}},
		{"2023-10-29 03:00:00", "2023-10-29T02:00:00Z", berlin, nil},
		{"2023-04-02 01:45:00", "2023-04-01T14:45:00Z", lordHowe, []string{RuleAmbiguous}}, // half an hour
	} {
		clock := Clock{Zone: c.zone}
		at, rules, _, ok := clock.Instant(c.text)
		require.True(t, ok, c.text)
		require.Equal(t, c.want, time.UnixMicro(int64(at)).UTC().Format(time.RFC3339Nano), c.text)
		require.Equal(t, c.rules, rules, c.text)
	}
	// The hour that occurs twice, in the order of time, and out of it.
	for _, unordered := range []bool{false, true} {
		clock := Clock{Zone: berlin, Unordered: unordered}
		var got []string
		for _, text := range []string{"2023-10-29 02:30:00", "2023-10-29 02:45:00", "2023-10-29 02:00:00", "2023-10-29 02:50:00", "2023-10-29 03:00:00"} {
			at, _, _, ok := clock.Instant(text)
			require.True(t, ok)
			got = append(got, time.UnixMicro(int64(at)).UTC().Format("15:04"))
		}
		if unordered {
			require.Equal(t, []string{"00:30", "00:45", "00:00", "00:50", "02:00"}, got)
		} else {
			require.Equal(t, []string{"00:30", "00:45", "01:00", "01:50", "02:00"}, got)
		}
	}
	for _, text := range []string{"", "soon", "2023-02-30 00:00:00", "1700000000"} {
		_, _, needZone, ok := (&Clock{Zone: time.UTC}).Instant(text)
		require.False(t, ok || needZone, text)
	}
	_, _, needZone, ok := (&Clock{}).Instant("2023-11-16 18:17:03")
	require.True(t, needZone && !ok)
}

func file(name, text string) File {
	return File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }, Head: Head{Bytes: []byte(text), Whole: true}}
}

// Rows of delimited text: quotations, marks of byte order, line ends, and what is wrong
// with others, by line.
func TestRows(t *testing.T) {
	var got [][]string
	err := Rows(file("f", "\ufeff\"a\", b ,c\r\n1,\"x,\n\"\"y\",3\r\n4,5,6"), ',', []string{"c", "a"}, func(r *Row) error {
		got = append(got, append([]string{r.Fields[r.At[0]], r.Fields[r.At[1]]}, r.Fields[1]))
		require.Equal(t, []string{"a", "b", "c"}, r.Header)
		require.EqualValues(t, len(got), r.N)
		require.EqualValues(t, []int64{0, 2, 4}[len(got)], r.Line)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"3", "1", "x,\n\"y"}, {"6", "4", "5"}}, got)
	for text, want := range map[string]string{
		"":                  "f: found an empty file",
		"a,b\n1\n":          "f: line 2: found 1 fields, expected 2, as the header has",
		"a,b\n1,\"2\n3,4\n": "f: line 3: found extraneous or missing \" in quoted-field",
		"a,d\n1,2\n":        `f: line 1: found the columns "a,d", expected a column b`,
		"a,b,b\n1,2,3\n":    "f: line 1: found two columns b",
		"a,b\xff\n1,2\n":    "expected names in UTF-8",
		"a,b\n1,\"" + strings.Repeat("x\n", maxRow) + "\"\n": "found a row longer than 1048576 bytes",
		strings.Repeat("x", 2*maxRow):                        "found a row longer than 1048576 bytes",
	} {
		err := Rows(file("f", text), ',', []string{"b"}, func(*Row) error { return nil })
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
		require.ErrorContains(t, err, want)
	}
	stop := errors.New("stop")
	require.ErrorIs(t, Rows(file("f", "a\n1\n2\n"), ',', nil, func(*Row) error { return stop }), stop)
	err = Rows(file("f", "a\nx\n"), ',', nil, func(r *Row) error { _, err := r.Int(0); return err })
	require.EqualError(t, err, `f: line 2, column a: found "x", expected a whole number; correct the value, or leave the row out`)
}

// A file out of order is read in order, and rows of one instant in that of the file.
func TestInOrder(t *testing.T) {
	at := func(r *Row) (model.Time, error) { n, err := r.Int(0); return model.Time(n), err }
	var got []string
	require.NoError(t, InOrder(file("f", "t,x\n3,a\n1,b\n3,c\n1,d\n"), ',', nil, false, at, func(r *Row, when model.Time) error {
		n, err := at(r)
		require.Equal(t, n, when)
		got = append(got, r.Fields[1])
		return err
	}))
	require.Equal(t, []string{"b", "d", "a", "c"}, got)
}

// The account adds up by table and in all.
func TestAccount(t *testing.T) {
	var a Account
	for range 3 {
		a.Table("load").Read++
	}
	a.Table("load").Kept = 2
	a.Table("load").Drop("late", "line 4")
	a.Table("nodes").Read, a.Table("nodes").Kept = 2, 1
	a.Table("nodes").Drop("late", "line 9")
	a.Assume("time zone", "UTC", "why")
	r := a.Report([]File{{Name: "x"}, {Name: "y"}}, &Format{Name: "f", Version: 7})
	require.True(t, r.Balanced())
	require.Equal(t, "x, y", r.File)
	require.Equal(t, "f 7", r.Importer)
	require.Equal(t, []int64{5, 3}, []int64{r.Read, r.Kept})
	require.Equal(t, []traces.Rule{{Rule: "late", Count: 2, Example: "line 4"}}, r.Dropped)
	r.Tables[0].Kept++
	require.False(t, r.Balanced())
	r.Tables[0].Kept--
	r.Read++
	require.False(t, r.Balanced())
	a.Again()
	require.Empty(t, a.Report(nil, &Format{}).Tables)
	require.Len(t, a.Report(nil, &Format{}).Assumed, 1)
}
