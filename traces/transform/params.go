package transform

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"orrery/internal/spelling"
	"orrery/scheduler/model"
)

// params reads the arguments of a step. The first error stands.
type params struct {
	step Step
	used []string
	err  error
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// get is the value of key, and whether it is given.
func (p *params) get(key string) (string, bool) {
	p.used = append(p.used, key)
	value, found := "", false
	for _, a := range p.step.Args {
		switch {
		case a.Key != key:
		case found:
			p.fail("%s is given twice", key)
		case a.Op != "=":
			p.fail("%s%s%s: want %s=VALUE", key, a.Op, a.Value, key)
		default:
			value, found = a.Value, true
		}
	}
	return value, found
}

// done says what is wrong, and which arguments are unknown.
func (p *params) done() error {
	for _, a := range p.step.Args {
		if !slices.Contains(p.used, a.Key) {
			p.fail("unknown argument %q%s: want %s", a.Key, spelling.Hint(a.Key, p.used), strings.Join(p.used, ", "))
		}
	}
	return p.err
}

func (p *params) need(key string) string {
	s, ok := p.get(key)
	if !ok {
		p.fail("%s is missing", key)
	}
	return s
}

func (p *params) word(key, absent string, of ...string) string {
	s, ok := p.get(key)
	if !ok {
		return absent
	}
	if !slices.Contains(of, s) {
		p.fail("%s=%s: want one of %s", key, s, strings.Join(of, ", "))
	}
	return s
}

func (p *params) truth(key string, absent bool) bool {
	return p.word(key, strconv.FormatBool(absent), "true", "false") == "true"
}

// span is a duration of 0 or more.
func (p *params) span(key string, absent model.Duration) model.Duration {
	s, ok := p.get(key)
	if !ok {
		return absent
	}
	d, err := model.ParseDuration(s)
	if err == nil && (d < 0 || d == model.Forever) {
		err = errors.New("want a finite duration of 0 or more")
	}
	if err != nil {
		p.fail("%s=%s: %w", key, s, err)
	}
	return d
}

func (p *params) whole(key string, absent, low, high int64) int64 {
	s, ok := p.get(key)
	if !ok {
		return absent
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		p.fail("%s=%s: want a whole number from %d to %d", key, s, low, high)
	}
	return n
}

func (p *params) seed() uint64 {
	s, ok := p.get("seed")
	if !ok {
		return 1
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		p.fail("seed=%s: want a whole number of 0 or more", s)
	}
	return n
}

// share is a number above 0 and at most 1000: 0.8, 4/5 or 80%.
func (p *params) share(key string) *big.Rat {
	s := p.need(key)
	text, percent := strings.CutSuffix(s, "%")
	r := new(big.Rat)
	if len(text) > 40 || strings.ContainsAny(text, "eEpPxXbBoO_") {
		p.fail("%s=%s: want a number like 0.8, 4/5 or 80%%", key, s)
		return r
	}
	if _, ok := r.SetString(text); !ok {
		p.fail("%s=%s: want a number like 0.8, 4/5 or 80%%", key, s)
		return new(big.Rat)
	}
	if percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	if r.Cmp(big.NewRat(1, 1000)) < 0 || r.Cmp(big.NewRat(1000, 1)) > 0 {
		p.fail("%s=%s: want a number from 0.001 to 1000", key, s)
	}
	return r
}

// list is the values between commas, nil when key is not given.
func (p *params) list(key string) []string {
	s, ok := p.get(key)
	if !ok {
		return nil
	}
	return strings.Split(s, ",")
}
