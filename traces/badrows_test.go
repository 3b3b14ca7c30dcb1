package traces

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Limits of unreadable rows, read and at their bounds.
func TestBadRows(t *testing.T) {
	for text, most := range map[string]map[int64]int64{
		"":        {0: 0, 3: 0, 99: 0, 100: 1, 999: 1, 1000: 1, 1999: 1, 2000: 2, 4_000_000: 4000}, // the default
		"0":       {0: 0, 3: 0, 1 << 40: 0},
		"0%":      {0: 0, 100: 0, 1 << 40: 0},
		"25":      {3: 25, 1000: 25},
		"0.5%":    {99: 0, 199: 1, 400: 2},
		"100%":    {1: 1, 99: 99, 1 << 50: 1 << 50},
		"0.0001%": {99: 0, 100: 1, 2_000_000: 2},
	} {
		var b BadRows
		if text != "" {
			require.NoError(t, b.Set(text), text)
		}
		for rows, want := range most {
			require.Equal(t, want, b.Most(rows), "%s of %d", text, rows)
		}
		again, err := ParseBadRows(b.String())
		require.NoError(t, err)
		for rows := range most {
			require.Equal(t, b.Most(rows), again.Most(rows), "%s as %s", text, b)
		}
		require.Equal(t, text == "0" || text == "0%", b.None())
	}
	require.Equal(t, "0.1%", BadRows{}.String())
	for _, text := range []string{"", "-1", "1.5", "101%", "0.00001%", "%", ".5%", "5.%", "1e3", "5 %x", "0x5", "99999999999999999999", "-0.1%", "+1%"} {
		var b BadRows
		require.ErrorContains(t, b.Set(text), "expected a number of rows such as 25, or a share", text)
	}
}

// A refusal is the complaint about the first row with the places of the next.
func TestUnreadable(t *testing.T) {
	var u Unreadable
	for _, line := range []int64{7, 9, 12, 30} {
		require.NoError(t, u.Add(&DataError{File: "log", Line: line, Column: "cpus", Found: `"x"`, Expected: "a whole number", Mend: "correct the value"}))
	}
	require.NoError(t, u.Check(4000))
	require.EqualError(t, u.Check(3999), `log: line 7, column cpus: found "x", expected a whole number; correct the value; `+
		`4 of 3999 rows cannot be read (lines 7, 9, 12 and more), and --bad-rows 0.1% allows 3: --bad-rows 4 leaves them out`)
	require.EqualValues(t, 4, u.Count())
	u.Reset()
	require.NoError(t, u.Check(1))
	require.NoError(t, u.Add(&DataError{File: "log", Row: 2, Found: "a"}))
	require.EqualError(t, u.Check(3), `log: row 2: found a; 1 of 3 rows cannot be read (row 2), and --bad-rows 0.1% allows none: --bad-rows 1 leaves them out`)
	strict := Unreadable{Limit: NoBadRows}
	bad := &DataError{File: "log", Line: 7}
	require.Equal(t, bad, strict.Add(bad))
	var report Report
	report.Dropped, report.Read = []Rule{{Rule: RuleUnreadable, Count: 2, Example: "line 3: x"}}, 1999
	require.ErrorContains(t, BadRows{}.CheckReport(&report), "2 of 1999 rows cannot be read (first line 3: x), and --bad-rows 0.1% allows 1")
	report.Read++
	require.NoError(t, BadRows{}.CheckReport(&report))
}
