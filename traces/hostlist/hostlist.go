// Package hostlist reads and writes lists of names of nodes in the way that
// resource managers do: n[001-087,90],m1. It must not know which nodes there are.
package hostlist

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrMany says that a term stands for more names than are asked for.
var ErrMany = errors.New("too many names")

// mostBytes bounds the names of one term, whatever their number.
const mostBytes = 1 << 28

// Terms splits a list at any of the separators outside of brackets and parentheses, and
// leaves out empty terms: n[1-3,7],m1 and gpu:a100:4(S:0,1),nvme:1.
func Terms(list, separators string) []string {
	var out []string
	depth, begin := 0, 0
	for i, r := range list {
		switch {
		case r == '[' || r == '(':
			depth++
		case r == ']' || r == ')':
			depth--
		case depth <= 0 && strings.ContainsRune(separators, r):
			out = append(out, list[begin:i])
			begin = i + 1
		}
	}
	out = append(out, list[begin:])
	return slices.DeleteFunc(out, func(t string) bool { return t == "" })
}

// ExpandList lists the names that the terms of a list stand for, no more than most in all.
func ExpandList(list, separators string, most int) ([]string, error) {
	var out []string
	for _, term := range Terms(list, separators) {
		names, err := Expand(term, most-len(out))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", term, err)
		}
		out = append(out, names...)
	}
	return out, nil
}

// Expand lists the names that a term like n[001-256,300] or r[1-4]n[1-8] stands
// for, in the order of its brackets. The digits of a lower bound set the width. It
// is an error when brackets do not match or hold no numbers, when a range runs
// backwards, and, by ErrMany, when there are more than most names.
func Expand(term string, most int) ([]string, error) {
	names := []string{""}
	for rest := term; rest != ""; {
		head, inside, open := strings.Cut(rest, "[")
		if strings.Contains(head, "]") {
			return nil, errors.New("a ] stands before its [")
		}
		numbers, after := []string{""}, ""
		if open {
			var closed bool
			if inside, after, closed = strings.Cut(inside, "]"); !closed {
				return nil, errors.New("the [ has no ]")
			}
			var err error
			if numbers, err = numbersOf(inside, most/len(names)); err != nil {
				return nil, err
			}
		}
		next := make([]string, 0, len(names)*len(numbers))
		for _, name := range names {
			for _, number := range numbers {
				next = append(next, name+head+number)
			}
		}
		if names, rest = next, after; len(term)*len(names) > mostBytes {
			return nil, ErrMany
		}
	}
	return names, nil
}

// numbersOf lists the numbers of 001-256,300.
func numbersOf(list string, most int) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		a, okA := number(low)
		b, okB := number(high)
		switch {
		case !okA || !okB:
			return nil, fmt.Errorf("the range %q is not like 001-256", part)
		case b < a:
			return nil, fmt.Errorf("the range %q runs backwards", part)
		case b-a >= most-len(out):
			return nil, ErrMany
		}
		for n := a; n <= b; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return out, nil
}

// number reads at most nine digits.
func number(text string) (int, bool) {
	if len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// Compress writes names as few terms, in their order: runs of numbers become
// ranges.
func Compress(names []string) []string {
	var out []string
	for i := 0; i < len(names); {
		head, digits, tail := numbered(names[i])
		j := i + 1
		for last := digits; digits != "" && j < len(names); j++ {
			h, d, t := numbered(names[j])
			if h != head || t != tail || d != successor(last) {
				break
			}
			last = d
		}
		if j-i == 1 {
			out = append(out, names[i])
		} else {
			_, high, _ := numbered(names[j-1])
			out = append(out, head+"["+digits+"-"+high+"]"+tail)
		}
		i = j
	}
	return out
}

// numbered cuts a name around its last number of at most nine digits.
func numbered(name string) (head, digits, tail string) {
	end := strings.LastIndexAny(name, "0123456789") + 1
	begin := end
	for begin > 0 && end-begin < 9 && name[begin-1] >= '0' && name[begin-1] <= '9' {
		begin--
	}
	return name[:begin], name[begin:end], name[end:]
}

// successor is the next number of the same width, or one digit more.
func successor(digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%0*d", len(digits), n+1)
}
