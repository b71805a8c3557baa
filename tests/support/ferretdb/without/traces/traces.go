// Package otlptracehttp sends no traces: FerretDB starts its exporter only when it is given an address.
package otlptracehttp

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
)

type Option struct{}

type Compression int

const NoCompression Compression = 0

type Exporter struct{ trace.SpanExporter }

func NewUnstarted(...Option) *Exporter { return &Exporter{} }

func (*Exporter) Start(context.Context) error { return nil }

func WithEndpointURL(string) Option        { return Option{} }
func WithHeaders(map[string]string) Option { return Option{} }
func WithTimeout(time.Duration) Option     { return Option{} }
func WithCompression(Compression) Option   { return Option{} }
