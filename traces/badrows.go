package traces

import (
	"fmt"
	"strconv"
	"strings"
)

// BadRows is how many rows of an input may be unreadable: such rows are left out and counted. It is a number of rows or
// a share of them. The zero value is the default, 0.1 %.
type BadRows struct {
	rows  int64 // where share is 0
	share int64 // in millionths of the rows
	given bool
}

// BadRowsUsage is the text of the flag.
const BadRowsUsage = "leave out up to `N|PERCENT` rows that cannot be read, and count them: 25, or 0.5%"

// RuleUnreadable is the rule by which rows that cannot be read are dropped.
const RuleUnreadable = "unreadable-row"

// NoBadRows allows none.
var NoBadRows = BadRows{given: true}

const (
	wholeShare   = 1_000_000
	defaultShare = 1_000 // 0.1 %
	// fewRows is from how many rows on a share allows at least one: below it one row is more than 1 %.
	fewRows = 100
)

// ParseBadRows reads a number of rows, or a share such as 0.5%.
func ParseBadRows(text string) (BadRows, error) {
	percent, isShare := strings.CutSuffix(strings.TrimSpace(text), "%")
	if !isShare {
		n, err := strconv.ParseInt(percent, 10, 64)
		if err != nil || n < 0 {
			return BadRows{}, badRowsError(text)
		}
		return BadRows{rows: n, given: true}, nil
	}
	whole, fraction, _ := strings.Cut(percent, ".")
	digits := whole + fraction
	if len(whole) == 0 || len(whole) > 3 || len(fraction) > 4 || strings.Trim(digits, "0123456789") != "" || strings.HasSuffix(percent, ".") {
		return BadRows{}, badRowsError(text)
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", 4-len(fraction)), 10, 64)
	if err != nil || n > wholeShare {
		return BadRows{}, badRowsError(text)
	}
	return BadRows{share: n, given: true}, nil
}

func badRowsError(text string) error {
	return fmt.Errorf("found %q, expected a number of rows such as 25, or a share from 0%% to 100%% with up to four decimals, such as 0.5%%", text)
}

// Most is how many of so many rows may be unreadable. A share is rounded down, but allows one row of 100 or more.
func (b BadRows) Most(rows int64) int64 {
	share := b.share
	if !b.given {
		share = defaultShare
	}
	if share == 0 {
		return b.rows
	}
	most := rows/wholeShare*share + rows%wholeShare*share/wholeShare
	if most == 0 && rows >= fewRows {
		return 1
	}
	return most
}

// None says that no row may be unreadable, however many there are.
func (b BadRows) None() bool { return b.given && b.rows == 0 && b.share == 0 }

// String writes it as ParseBadRows reads it.
func (b BadRows) String() string {
	share := b.share
	if !b.given {
		share = defaultShare
	}
	if share == 0 {
		return strconv.FormatInt(b.rows, 10)
	}
	text := strconv.FormatInt(share/10_000, 10)
	if rest := share % 10_000; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%04d", rest), "0")
	}
	return text + "%"
}

// Set implements the values of flags.
func (b *BadRows) Set(text string) (err error) {
	*b, err = ParseBadRows(text)
	return err
}

// Type implements the values of flags.
func (b *BadRows) Type() string { return "N|PERCENT" }

// namedRows is how many unreadable rows a refusal names.
const namedRows = 3

// Unreadable counts the rows of an input that cannot be read.
type Unreadable struct {
	Limit BadRows

	count int64
	first []*DataError
}

// Add takes the complaint about a row, which is left out; an error when none may be.
func (u *Unreadable) Add(e *DataError) error {
	if u.Limit.None() {
		return e
	}
	u.count++
	if len(u.first) < namedRows {
		u.first = append(u.first, e)
	}
	return nil
}

// Count is how many there are.
func (u *Unreadable) Count() int64 { return u.count }

// Reset forgets them, for another reading.
func (u *Unreadable) Reset() { u.count, u.first = 0, nil }

// Check refuses an input of so many rows, the unreadable ones included, of which too many are unreadable: with the complaint about the
// first, and where the next are.
func (u *Unreadable) Check(rows int64) error {
	most := u.Limit.Most(rows)
	if u.count <= most {
		return nil
	}
	e := *u.first[0]
	if e.Mend != "" {
		e.Mend += "; "
	}
	e.Mend += u.Limit.refusal(u.count, rows, u.places())
	return &e
}

// CheckReport refuses an import that was made with another limit.
func (b BadRows) CheckReport(r *Report) error {
	for _, d := range r.Dropped {
		if d.Rule != RuleUnreadable || d.Count <= b.Most(r.Read) {
			continue
		}
		return &DataError{File: r.File, Found: "rows that cannot be read", Expected: "fewer", Mend: b.refusal(d.Count, r.Read, "first "+d.Example)}
	}
	return nil
}

// refusal says how many there are, and how many may be.
func (b BadRows) refusal(count, rows int64, where string) string {
	allowed := "none"
	if most := b.Most(rows); most > 0 {
		allowed = strconv.FormatInt(most, 10)
	}
	return fmt.Sprintf("%d of %d rows cannot be read (%s), and --bad-rows %s allows %s: --bad-rows %d leaves them out", count, rows, where, b, allowed, count)
}

// places reads "lines 3, 8, 9 and more".
func (u *Unreadable) places() string {
	kind, at := "line", func(e *DataError) int64 { return e.Line }
	if u.first[0].Line == 0 {
		kind, at = "row", func(e *DataError) int64 { return e.Row }
	}
	if len(u.first) > 1 {
		kind += "s"
	}
	var b strings.Builder
	for i, e := range u.first {
		sep := ", "
		if i == 0 {
			sep = kind + " "
		}
		b.WriteString(sep + strconv.FormatInt(at(e), 10))
		if e.File != u.first[0].File {
			b.WriteString(" of " + e.File)
		}
	}
	if u.count > namedRows {
		b.WriteString(" and more")
	}
	return b.String()
}
