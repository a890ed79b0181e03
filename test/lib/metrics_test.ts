import { describe, expect, test } from 'bun:test'
import { createMetrics } from '../../src/lib/metrics.ts'

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

  test('counts further series together once there are too many', () => {
    const metrics = createMetrics()
    const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: ['x'] })
    for (let index = 0; index < 5_000; index += 1) counter(index).add(1)
    const lines = metrics.render().split('\n')
    expect(lines.length).toBeLessThan(1_010)
    expect(lines).toContain('a_total{x="other"} 4000')
  })

  test('a name can be used once', () => {
    const metrics = createMetrics()
    metrics.gauge({ name: 'a', help: 'A.', read: () => 1 })
    expect(() => metrics.counter({ name: 'a', help: 'A.' })).toThrow('Cannot register metric "a": it exists')
  })
})
