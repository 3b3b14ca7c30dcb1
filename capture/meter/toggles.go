package meter

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"orrery/scheduler/model"
	"orrery/traces"
)

const (
	mostToggles = 1 << 20
	sameToggle  = model.Millisecond // within which two instants are one: some programs write the end of a part and the begin of the next
)

// Toggles reads the instants at which a load toggles, µs since 1970 one a line, first on. A first line may name the column.
func Toggles(text []byte) ([]model.Time, error) {
	r := &reader{}
	var out []model.Time
	number, named := int64(0), false
	for raw := range bytes.Lines(text) {
		number++
		cell, _, _ := strings.Cut(strings.TrimSpace(string(raw[:min(len(raw), mostLine)])), ",")
		if cell = strings.Trim(strings.TrimSpace(cell), `"`); cell == "" {
			continue
		}
		at, err := r.instant(cell)
		if _, word := strconv.ParseFloat(cell, 64); word != nil {
			err = wantedTime
		}
		switch {
		case err != nil && len(out) == 0 && !named:
			named = true
			continue
		case err != nil:
			return nil, bad(number, "", cell, "an instant in µs since 1970")
		case len(out) > 0 && at < out[len(out)-1]:
			return nil, bad(number, "", cell, "an instant that is not before the one above")
		case len(out) > 0 && at.Sub(out[len(out)-1]) < sameToggle:
			continue
		case len(out) == mostToggles:
			return nil, &traces.DataError{Line: number, Found: fmt.Sprintf("more than %d instants", mostToggles), Expected: "at most so many"}
		}
		out = append(out, at)
	}
	if len(out) < 2 {
		return nil, &traces.DataError{Found: fmt.Sprintf("%d instants", len(out)), Expected: "two at least: the load goes on, and off"}
	}
	return out, nil
}
