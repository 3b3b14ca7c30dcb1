package traces

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// columnHash is the running digest of one column. A null adds the byte 0; a
// value adds the byte 1 and its 64 bits little-endian, or its length so and
// its text. Nulls before the first value are only counted, so a column of
// nulls costs nothing and equals a column that is not there.
type columnHash struct {
	sum   hash.Hash
	buf   []byte
	nulls int64 // counted, not yet fed; only before the first value
}

func (h *columnHash) null() {
	if h.sum == nil {
		h.nulls++
		return
	}
	h.put(append(h.buf, 0))
}

func (h *columnHash) number(n int64) {
	h.start()
	h.put(binary.LittleEndian.AppendUint64(append(h.buf, 1), uint64(n)))
}

func (h *columnHash) text(s string) {
	h.start()
	b := binary.LittleEndian.AppendUint64(append(h.buf, 1), uint64(len(s)))
	h.put(append(b, s...))
}

func (h *columnHash) start() {
	if h.sum != nil {
		return
	}
	h.sum = sha256.New()
	h.buf = make([]byte, 0, 4096)
	for ; h.nulls > 0; h.nulls-- {
		h.put(append(h.buf, 0))
	}
}

func (h *columnHash) put(b []byte) {
	if len(b) > 3072 {
		h.sum.Write(b)
		b = b[:0]
	}
	h.buf = b
}

// line writes the column's line of the table's digest, or nothing when it
// holds no value.
func (h *columnHash) line(w io.Writer, c *Column) {
	if h.sum == nil {
		return
	}
	h.sum.Write(h.buf)
	h.buf = h.buf[:0]
	fmt.Fprintf(w, "%s %s %s\n", c.Name, c.Type, hex.EncodeToString(h.sum.Sum(nil)))
}

// tableHash is the digest of one table: its name, its number of rows and the
// digest of each column that holds a value.
type tableHash struct {
	columns []columnHash
	rows    int64
}

func (t *tableHash) line(w io.Writer, name string, columns []Column) {
	if t.rows == 0 {
		return
	}
	fmt.Fprintf(w, "table %s %d\n", name, t.rows)
	for i := range t.columns {
		t.columns[i].line(w, &columns[i])
	}
}

// tableHashes are the digests of the tables of a bundle.
type tableHashes struct {
	jobs, deps, nodes, tenants, events, prices, load, telemetry, instances tableHash
}

// content combines the tables with what of the metadata changes their
// meaning. docs/TRACE-FORMAT.md defines it.
func (h *tableHashes) content(m *Meta) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "orrery content 1\nepoch_us %d\ntimezone %s\n", int64(m.Epoch), m.TimeZone)
	if m.WarmStart.OK {
		fmt.Fprintf(sum, "warm_start_us %d\n", int64(m.Epoch+m.WarmStart.V))
	}
	if m.History > 0 {
		fmt.Fprintf(sum, "history_us %d\n", int64(m.History))
	}
	h.jobs.line(sum, "jobs", JobColumns())
	h.deps.line(sum, "deps", columnsOf(depFields))
	h.nodes.line(sum, "nodes", columnsOf(nodeFields))
	h.tenants.line(sum, "tenants", columnsOf(tenantFields))
	h.events.line(sum, "events", columnsOf(eventFields))
	h.prices.line(sum, "prices", columnsOf(priceFields))
	h.load.line(sum, "load", columnsOf(loadFields))
	h.telemetry.line(sum, "telemetry", columnsOf(telemetryFields))
	h.instances.line(sum, "mig", columnsOf(instanceFields))
	return hex.EncodeToString(sum.Sum(nil))
}
