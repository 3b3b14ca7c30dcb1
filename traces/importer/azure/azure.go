// Package azure reads the public traces of Azure: so far the requests to language
// models of 2023 (AzureLLMInferenceTrace, one CSV for each of two services). It knows
// nothing of what a replay makes of a request.
//
// The columns are TIMESTAMP (100 ns, without a zone, UTC by the description of the data
// set), ContextTokens and GeneratedTokens. A row is one request: a sample of the load
// table with one arrival and no width. Times are rounded down to the microsecond.
//
// Source: https://github.com/Azure/AzurePublicDataset.
package azure

import (
	"orrery/traces"
	"orrery/traces/importer/format"
)

// LLM is the format of the traces of 2023.
var LLM = &format.Format{
	Name: "azure-llm", Version: 2, Files: 1, Zoned: true, Served: true, What: "requests of Azure's LLM traces of 2023 (TIMESTAMP,ContextTokens,GeneratedTokens)",
	Sniff: func(h format.Head) format.Match {
		return format.HeaderMatch(h, ',', columns...)
	},
	Scan: scan,
}

var columns = []string{columnTime: "TIMESTAMP", columnIn: "ContextTokens", columnOut: "GeneratedTokens"}

const (
	columnTime = iota
	columnIn
	columnOut
)

func scan(f *format.Format, files []format.File, o format.Options) (format.Scanned, error) {
	t := format.NewTable(f, files, format.Layout{Comma: ',', Columns: columns})
	t.Clock.Zone = t.Log.Account.OrUTC(o.Zone, "the data set says so; --time-zone gives another")
	service := t.Log.Account.ServiceOr(o.Service, "llm")
	t.Row = func(c *format.Cells, s *format.Sink) error {
		l := traces.Load{Service: service, Time: c.When(columnTime, &t.Clock), Arrivals: traces.Some(1.0),
			TokensIn: c.Number(columnIn), TokensOut: c.Number(columnOut)}
		if c.Err != nil {
			return c.Err
		}
		return s.Load(c.Place(""), &l, "")
	}
	return t.Scan()
}
