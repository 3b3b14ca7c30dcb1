// Package seal puts the SHA-256 of a text into the text, so that readers find out when it
// was altered. It protects against disks, editors and mistakes, not against those who seal
// what they altered.
package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNone says that a text has no seal at its end.
var ErrNone = errors.New("no SHA-256 at its end")

const (
	lineHead   = `{"sha256":"`
	memberHead = `,"sha256":"`
	tail       = `"}`
)

func digest(b []byte) []byte {
	sum := sha256.Sum256(b)
	return hex.AppendEncode(nil, sum[:])
}

// Line adds a line with the digest of all before it.
func Line(text []byte) []byte {
	out := append(bytes.Clone(text), '\n')
	return append(append(append(out, lineHead...), digest(text)...), tail+"\n"...)
}

// CutLine checks a text that Line has sealed and gives it without the line.
func CutLine(text []byte) ([]byte, error) { return cut(text, "\n"+lineHead) }

// Object adds the key sha256 to the end of a JSON object that is not empty: the digest of
// all that stands before it.
func Object(text []byte) []byte {
	body := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")), " \t\r\n")
	out := append(bytes.Clone(body), memberHead...)
	return append(append(out, digest(body)...), tail+"\n"...)
}

// CutObject checks an object that Object has sealed and gives it without the key.
func CutObject(text []byte) ([]byte, error) {
	body, err := cut(text, memberHead)
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(body), '}'), nil
}

// CutVersioned checks a JSON object whose key schema says its version, and gives it without
// its seal. From version since on an object must be sealed; those of before need not be.
func CutVersioned(text []byte, since int) ([]byte, error) {
	body, err := CutObject(text)
	if !errors.Is(err, ErrNone) {
		return body, err
	}
	var head struct{ Schema int }
	if json.Unmarshal(text, &head) == nil && head.Schema >= since {
		return nil, err
	}
	return text, nil
}

func cut(text []byte, head string) ([]byte, error) {
	end := len(text) - 2*sha256.Size - len(tail) - 1
	if end < len(head) || !bytes.HasSuffix(text, []byte(tail+"\n")) || !bytes.HasSuffix(text[:end], []byte(head)) {
		return nil, ErrNone
	}
	body, want := text[:end-len(head)], text[end:end+2*sha256.Size]
	if found := digest(body); !bytes.Equal(found, want) {
		return nil, fmt.Errorf("content with the SHA-256 %.16s…, want %.16s…: it was altered", found, want)
	}
	return body, nil
}
