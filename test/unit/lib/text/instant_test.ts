import { expect, test } from 'bun:test'
import { parseInstantMs } from '../../../../src/lib/text/instant.ts'

test('parseInstantMs() reads dates and timestamps, UTC without a zone', () => {
  expect(parseInstantMs('2028-02-29')).toBe(Date.UTC(2028, 1, 29))
  expect(parseInstantMs('2028-02-29', 'last')).toBe(Date.UTC(2028, 2, 1) - 1)
  expect(parseInstantMs('2028-02-29T12:30:15.25')).toBe(Date.UTC(2028, 1, 29, 12, 30, 15, 250))
  expect(parseInstantMs('2028-03-01T00:30+01:00')).toBe(Date.UTC(2028, 1, 29, 23, 30))
})

test('parseInstantMs() refuses times that do not exist, which new Date() moves to others', () => {
  for (const text of ['2027-02-29', '2027-02-30', '2027-02-31T00:00:00Z', '2027-04-31', '2027-01-01T24:00Z']) {
    expect([text, parseInstantMs(text)]).toEqual([text, undefined])
  }
  for (const text of ['', 'soon', '1969-12-31', '2027-1-1', '2027-01-01T00:00:00+15:00', '2027-13-01']) {
    expect([text, parseInstantMs(text)]).toEqual([text, undefined])
  }
})
