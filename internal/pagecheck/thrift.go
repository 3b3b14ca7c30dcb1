package pagecheck

import (
	"encoding/binary"
	"errors"
)

// A Parquet footer and the header before each page are Thrift structures. The
// library allocates what their lengths claim before it looks whether the bytes
// are there, so a flipped bit can ask for gigabytes; a failed allocation
// cannot be recovered from. compact walks such a structure first and refuses
// lengths that the bytes do not back.
type compact struct {
	b       []byte
	pos     int
	structs int // in lists so far
}

// The library decodes a structure of a list into 30 to 500 bytes, so that one that is empty, of
// one byte, takes a hundred times as much. Those that Parquet has in lists have 3 bytes or more, the order of a column.
const (
	minStruct   = 3
	mostStructs = 1 << 20 // of 5,000 row groups of 50 columns, with their statistics
)

var (
	errCompact = errors.New("a malformed Thrift structure")
	errShort   = errors.New("a Thrift structure that ends early")
	errStructs = errors.New("more than 1048576 structures in a footer: write fewer row groups")
)

// Wire types of the Thrift compact protocol.
const (
	wireStop   = 0
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireI16    = 4
	wireI32    = 5
	wireI64    = 6
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
)

const maxThriftDepth = 24

// fields walks one structure and calls visit for each field; a field that
// visit does not consume (it returns false) is skipped.
func (c *compact) fields(depth int, visit func(id int, wire byte) (bool, error)) error {
	if depth > maxThriftDepth {
		return errCompact
	}
	id := 0
	for {
		h, err := c.byte()
		if err != nil {
			return err
		}
		wire := h & 15
		if wire == wireStop {
			return nil
		}
		if d := int(h >> 4); d != 0 {
			id += d
		} else {
			n, err := c.varint()
			if err != nil {
				return err
			}
			id = int(n)
		}
		done := false
		if visit != nil {
			if done, err = visit(id, wire); err != nil {
				return err
			}
		}
		if !done {
			if err := c.skip(wire, depth+1, false); err != nil {
				return err
			}
		}
	}
}

// skip walks over one value. Booleans take a byte inside containers and none
// as fields.
func (c *compact) skip(wire byte, depth int, element bool) error {
	switch wire {
	case wireTrue, wireFalse:
		if element {
			return c.advance(1)
		}
		return nil
	case wireByte:
		return c.advance(1)
	case wireI16, wireI32, wireI64:
		_, err := c.varint()
		return err
	case wireDouble:
		return c.advance(8)
	case wireBinary:
		n, err := c.length()
		if err != nil {
			return err
		}
		return c.advance(n)
	case wireList, wireSet:
		return c.list(depth)
	case wireMap:
		return c.mapping(depth)
	case wireStruct:
		return c.fields(depth, nil)
	}
	return errCompact
}

func (c *compact) list(depth int) error {
	h, err := c.byte()
	if err != nil {
		return err
	}
	n := int(h >> 4)
	if n == 15 {
		if n, err = c.length(); err != nil {
			return err
		}
	}
	if n > len(c.b)-c.pos { // every element takes a byte at least
		return errShort
	}
	if h&15 == wireStruct {
		if c.structs += n; c.structs > mostStructs {
			return errStructs
		}
		if n > (len(c.b)-c.pos)/minStruct {
			return errShort
		}
	}
	for range n {
		if err := c.skip(h&15, depth+1, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *compact) mapping(depth int) error {
	n, err := c.length()
	if err != nil || n == 0 {
		return err
	}
	h, err := c.byte()
	if err != nil {
		return err
	}
	if n > len(c.b)-c.pos {
		return errShort
	}
	for range n {
		if err := c.skip(h>>4, depth+1, true); err != nil {
			return err
		}
		if err := c.skip(h&15, depth+1, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *compact) advance(n int) error {
	if n > len(c.b)-c.pos {
		return errShort
	}
	c.pos += n
	return nil
}

func (c *compact) byte() (byte, error) {
	if c.pos == len(c.b) {
		return 0, errShort
	}
	c.pos++
	return c.b[c.pos-1], nil
}

func (c *compact) uvarint() (uint64, error) {
	u, n := binary.Uvarint(c.b[c.pos:])
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errCompact
	}
	c.pos += n
	return u, nil
}

// varint reads a zigzag number.
func (c *compact) varint() (int64, error) {
	u, err := c.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (c *compact) length() (int, error) {
	u, err := c.uvarint()
	if err != nil {
		return 0, err
	}
	if u > 1<<31-1 {
		return 0, errCompact
	}
	return int(u), nil
}

// number reads a field that must be an integer.
func (c *compact) number(wire byte) (int64, error) {
	if wire < wireI16 || wire > wireI64 {
		return 0, errCompact
	}
	return c.varint()
}
