package traces_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/traces"
)

// naiveHash follows docs/TRACE-FORMAT.md to the letter. The members of the row
// types stand in the order of the columns.
func naiveHash(c *content) string {
	var lines bytes.Buffer
	fmt.Fprintf(&lines, "orrery content 1\nepoch_us %d\ntimezone %s\n", c.meta.Epoch, c.meta.TimeZone)
	naiveTable(&lines, "jobs", traces.JobColumns(), c.jobs, c.meta.Epoch)
	naiveTable(&lines, "deps", traces.Columns("deps"), c.deps, 0)
	naiveTable(&lines, "nodes", traces.Columns("nodes"), c.nodes, 0)
	naiveTable(&lines, "tenants", traces.Columns("tenants"), c.tenants, 0)
	naiveTable(&lines, "events", traces.Columns("events"), c.events, c.meta.Epoch)
	naiveTable(&lines, "prices", traces.Columns("prices"), c.prices, c.meta.Epoch)
	naiveTable(&lines, "load", traces.Columns("load"), c.load, c.meta.Epoch)
	naiveTable(&lines, "telemetry", traces.Columns("telemetry"), c.gauges, c.meta.Epoch)
	naiveTable(&lines, "mig", traces.Columns("mig"), c.parts, c.meta.Epoch)
	sum := sha256.Sum256(lines.Bytes())
	return hex.EncodeToString(sum[:])
}

func naiveTable[R any](lines *bytes.Buffer, name string, columns []traces.Column, rows []R, epoch model.Time) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(lines, "table %s %d\n", name, len(rows))
	for i, c := range columns {
		var column bytes.Buffer
		holds := false
		for _, r := range rows {
			v := reflect.ValueOf(r).Field(i)
			if v.Kind() == reflect.Struct { // an Opt
				if !v.FieldByName("OK").Bool() {
					column.WriteByte(0)
					continue
				}
				v = v.FieldByName("V")
			}
			if v.Kind() == reflect.String && c.Optional && v.Len() == 0 {
				column.WriteByte(0)
				continue
			}
			holds = true
			column.WriteByte(1)
			number := func(n uint64) { column.Write(binary.LittleEndian.AppendUint64(nil, n)) }
			switch v.Kind() {
			case reflect.String:
				number(uint64(v.Len()))
				column.WriteString(v.String())
			case reflect.Bool:
				if v.Bool() {
					number(1)
				} else {
					number(0)
				}
			case reflect.Float64:
				number(math.Float64bits(v.Float()))
			default:
				n := v.Int()
				if c.Type == traces.Timestamp {
					n += int64(epoch)
				}
				number(uint64(n))
			}
		}
		if holds {
			sum := sha256.Sum256(column.Bytes())
			fmt.Fprintf(lines, "%s %s %x\n", c.Name, c.Type, sum)
		}
	}
}

func TestHashFollowsTheDocument(t *testing.T) {
	require.Equal(t, sampleHash, naiveHash(sample()))
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		c := &content{
			meta:  traces.Meta{Epoch: anyTime.Draw(t, "epoch"), TimeZone: text(t, "zone")},
			jobs:  rapid.SliceOfN(rapid.Custom(anyJob), 0, 20).Draw(t, "jobs"),
			nodes: rapid.SliceOfN(rapid.Custom(anyNode), 0, 3).Draw(t, "nodes"),
		}
		if rapid.Bool().Draw(t, "site") {
			c.tenants, c.events = []traces.Tenant{anyTenant(t)}, []traces.Event{anyEvent(t)}
			c.prices = []traces.Price{anyPrice(t), anyPrice(t)}
			c.load, c.gauges = []traces.Load{anyLoad(t)}, []traces.Telemetry{anyTelemetry(t)}
			c.parts = []traces.Instance{anyInstance(t), anyInstance(t)}
		}
		n++
		require.Equal(t, naiveHash(c), write(t, filepath.Join(dir, strconv.Itoa(n)+".trace"), c))
	})
}
