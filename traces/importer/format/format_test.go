package format

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
	"orrery/traces/localtime"
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
	// The hour that occurs twice, in the order of time, and out of it: read once, then decided.
	for _, unordered := range []bool{false, true} {
		clock := Clock{Zone: berlin, Unordered: unordered}
		var got []string
		for range 2 {
			got = nil
			for _, text := range []string{"2023-10-29 02:30:00", "2023-10-29 02:45:00", "2023-10-29 02:00:00", "2023-10-29 02:50:00", "2023-10-29 03:00:00"} {
				at, rules, _, ok := clock.Instant(text)
				require.True(t, ok)
				got = append(got, time.UnixMicro(int64(at)).UTC().Format("15:04")+strings.Join(rules, ","))
			}
			require.NotEqual(t, unordered, clock.Repeated())
			clock.Decide()
		}
		rule := localtime.RuleByOrder
		want := []string{"00:30", "00:45", "01:00", "01:50"}
		if unordered {
			rule, want = localtime.RuleAmbiguous, []string{"00:30", "00:45", "00:00", "00:50"}
		}
		for i := range want {
			want[i] += rule
		}
		require.Equal(t, append(want, "02:00"), got)
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
	require.True(t, a.Table("load").Take(&Place{Line: 2}, ""))
	require.True(t, a.Table("load").Take(&Place{Line: 3, Repaired: []string{"mended"}}, ""))
	require.False(t, a.Table("load").Take(&Place{Line: 4}, "late"))
	require.True(t, a.Table("nodes").Take(&Place{Line: 8}, ""))
	require.False(t, a.Table("nodes").Take(&Place{File: "dir/b", Of: "row", Line: 9, Name: "n"}, "late"))
	a.Assume("time zone", "UTC", "why")
	r := a.Report([]File{{Name: "x"}, {Name: "y"}}, &Format{Name: "f", Version: 7})
	require.True(t, r.Balanced())
	require.Equal(t, "x, y", r.File)
	require.Equal(t, "f 7", r.Importer)
	require.Equal(t, []int64{5, 3}, []int64{r.Read, r.Kept})
	require.Equal(t, []traces.Rule{{Rule: "late", Count: 2, Example: "line 4"}}, r.Dropped)
	require.Equal(t, []traces.Rule{{Rule: "late", Count: 1, Example: "b row 9: n"}}, r.Tables[1].Dropped)
	require.Equal(t, []traces.Rule{{Rule: "mended", Count: 1, Example: "line 3"}}, r.Repaired)
	r.Tables[0].Kept++
	require.False(t, r.Balanced())
	r.Tables[0].Kept--
	r.Read++
	require.False(t, r.Balanced())
	a.Again()
	require.Empty(t, a.Report(nil, &Format{}).Tables)
	require.Len(t, a.Report(nil, &Format{}).Assumed, 1)
}

// Rows that do not fit in memory are sorted as those that do, ties in the order in which
// they came.
func TestSorter(t *testing.T) {
	for _, most := range []int{1, 3, 7, 1000} {
		s := Sorter[traces.Load]{most: most}
		type want struct{ at, n int }
		var all []want
		for n := range 100 {
			at := n * 37 % 11
			all = append(all, want{at, n})
			require.NoError(t, s.Add(Place{Line: int64(n), Repaired: []string{"x"}}, model.Time(at), &traces.Load{Service: "s", Arrivals: traces.Some(float64(n))}))
		}
		slices.SortStableFunc(all, func(a, b want) int { return a.at - b.at })
		k := 0
		require.NoError(t, s.Each(func(p *Place, at model.Time, l *traces.Load) error {
			require.Equal(t, want{int(at), int(p.Line)}, all[k])
			require.Equal(t, traces.Load{Service: "s", Arrivals: traces.Some(float64(all[k].n))}, *l)
			require.Equal(t, []string{"x"}, p.Repaired)
			k++
			return nil
		}))
		require.Equal(t, 100, k)
		s.Close()
	}
}

// Decimal numbers of a unit, against values by hand.
func TestDecimal(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1.5": 1_500_000, "-1.5": -1_500_000, "-0.0000001": -1, "1.0000009": 1_000_000, "1e3": 1_000_000_000, "00.10": 100_000, "7.": 7_000_000} {
		d, _, ok := Decimal(text, model.Second)
		require.True(t, ok, text)
		require.EqualValues(t, want, d, text)
	}
	for _, text := range []string{"", "x", "1.-5", "0x10", "1_0", "NaN", "Inf", "99999999999999999999", "1e300", "1.5.5", "."} {
		_, _, ok := Decimal(text, model.Second)
		require.False(t, ok, text)
	}
}

// JSON has numbers of any length, also where a list is looked for.
func TestNumberBeyondDoubles(t *testing.T) {
	text := strings.Repeat("5", 400)
	file := File{Name: "x.json", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	for _, path := range [][]string{{}, {"jobs"}} {
		err := EachElement([]File{file}, path, func(*Element) error { return errors.New("there is no element") })
		require.ErrorContains(t, err, "x.json: found no list at")
	}
}
