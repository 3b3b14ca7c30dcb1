// Package pagebytes makes the Parquet library write the same bytes on every CPU of one
// architecture: what writes tables imports it. It must not know what tables hold.
package pagebytes
