import { describe, expect, test } from 'bun:test'
import { createMetrics, mergeMetrics, renderMetrics } from '../../../src/lib/metrics.ts'

describe('createMetrics()', () => {
  test('renders counters, gauges and cumulative histograms', () => {
    const metrics = createMetrics()
    const requests = metrics.counter({ name: 'requests_total', help: 'Requests.', labels: ['route', 'status'] })
    requests('GET /a', 200).add(1)
    requests('GET /a', 200).add(2)
    requests('GET /b', 404).add(1)
    metrics.gauge({ name: 'in_flight', help: 'Now.', read: () => 7 })
    const latency = metrics.histogram({ name: 'seconds', help: 'Time.', buckets: [0.1, 1] })
    for (const value of [0.05, 0.1, 0.5, 3]) latency().observe(value)
    expect(metrics.render()).toBe(
      [
        '# HELP requests_total Requests.',
        '# TYPE requests_total counter',
        'requests_total{route="GET /a",status="200"} 3',
        'requests_total{route="GET /b",status="404"} 1',
        '# HELP in_flight Now.',
        '# TYPE in_flight gauge',
        'in_flight 7',
        '# HELP seconds Time.',
        '# TYPE seconds histogram',
        'seconds_bucket{le="0.1"} 2',
        'seconds_bucket{le="1"} 3',
        'seconds_bucket{le="+Inf"} 4',
        'seconds_sum 3.65',
        'seconds_count 4',
        '',
      ].join('\n'),
    )
  })

  test('escapes label values', () => {
    const metrics = createMetrics()
    metrics
      .counter({ name: 'a_total', help: 'A.', labels: ['x'] })('"\\\n')
      .add(1)
    expect(metrics.render()).toContain('a_total{x="\\"\\\\\\n"} 1')
  })

  test('counts additional series as one once there are too many', () => {
    const metrics = createMetrics()
    const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: ['x'] })
    for (let index = 0; index < 5_000; index += 1) counter(index).add(1)
    const lines = metrics.render().split('\n')
    expect(lines.length).toBeLessThan(1_010)
    expect(lines).toContain('a_total{x="other"} 4000')
  })

  test('throws for a name that is used twice', () => {
    const metrics = createMetrics()
    metrics.gauge({ name: 'a', help: 'A.', read: () => 1 })
    expect(() => metrics.counter({ name: 'a', help: 'A.' })).toThrow('Cannot register metric "a": it exists')
  })
})

describe('mergeMetrics()', () => {
  function processWith(values: { readonly asked: number; readonly age: number; readonly tookSec: number }) {
    const metrics = createMetrics()
    metrics
      .counter({ name: 'asked_total', help: 'Asked.', labels: ['by'] })('a')
      .add(values.asked)
    metrics.gauge({ name: 'in_flight', help: 'Now.', read: () => 1 })
    metrics.gauge({ name: 'age_seconds', help: 'Age.', aggregation: 'least', read: () => values.age })
    metrics.gauges({
      name: 'block',
      help: 'Block.',
      labels: ['x'],
      aggregation: 'most',
      read: () => [[[1], values.age]],
    })
    metrics
      .histogram({ name: 'seconds', help: 'Time.', buckets: [0.1, 1] })()
      .observe(values.tookSec)
    return metrics
  }
  const one = processWith({ asked: 2, age: 7, tookSec: 0.5 })
  const other = processWith({ asked: 3, age: 4, tookSec: 0.25 })

  test('sums counters and histograms, and merges gauges by their aggregation', () => {
    const lines = renderMetrics(mergeMetrics([one.readSamples(), other.readSamples()])).split('\n')
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual([
      'asked_total{by="a"} 5',
      'in_flight 2',
      'age_seconds 4',
      'block{x="1"} 7',
      'seconds_bucket{le="0.1"} 0',
      'seconds_bucket{le="1"} 2',
      'seconds_bucket{le="+Inf"} 2',
      'seconds_sum 0.75',
      'seconds_count 2',
      '',
    ])
  })

  test('returns the samples of a single process unchanged, also after a transfer', () => {
    expect(renderMetrics(mergeMetrics([JSON.parse(JSON.stringify(one.readSamples()))]))).toBe(one.render())
  })

  test('keeps a series that only one process has', () => {
    const more = createMetrics()
    more
      .counter({ name: 'asked_total', help: 'Asked.', labels: ['by'] })('b')
      .add(9)
    const text = renderMetrics(mergeMetrics([one.readSamples(), more.readSamples()]))
    expect(text).toContain('asked_total{by="a"} 2\nasked_total{by="b"} 9\n')
    expect(text.match(/# TYPE asked_total/g)).toHaveLength(1)
  })
})
