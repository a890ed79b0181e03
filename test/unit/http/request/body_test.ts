import { describe, expect, test } from 'bun:test'
import { parseJson } from '../../../../src/http/request/body.ts'
import { CodedError } from '../../../../src/lib/error.ts'
import { createClient } from '../../../support/client.ts'
import { cpuSeconds } from '../../../support/cpu.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'

describe('parseJson()', () => {
  test.each([
    ['{}'],
    ['[]'],
    ['1'],
    ['"a"'],
    ['null'],
    ['{"a":{"a":{"a":1}}}'],
    ['[{"a":1},{"a":2}]'],
    ['"\\"{[\\\\"'],
    ['{"a":"}","b":"]"}'],
    [' { "a" : "b:c" } '],
    ['{"a":"b","c":"b"}'],
    ['["a","a"]'],
    ['{"\\u0061":1,"b":2}'],
    [`${'['.repeat(16)}${']'.repeat(16)}`],
  ])('%p is what JSON.parse makes of it', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })

  test.each([
    ['nothing', ''],
    ['17 levels', `${'['.repeat(17)}${']'.repeat(17)}`],
    ['a comma at the end', '{"a":1,}'],
    ['a comment', '{}//'],
    ['two values', '{} {}'],
    ['single quotes', "{'a':1}"],
    ['a leading zero', '[01]'],
    ['NaN', '[NaN]'],
    ['an endless string', '{"a":"b'],
    ['a bare control character', '["\u0001"]'],
    ['a byte order mark', '\ufeff{}'],
    ['a broken escape in a key', '{"\\x":1}'],
  ])('refuses %s', (_name, text) => {
    expect(() => parseJson(text)).toThrow(CodedError)
  })

  test('refuses a million brackets at once', async () => {
    const seconds = await cpuSeconds(() => {
      expect(() => parseJson('['.repeat(1_000_000))).toThrow('expected at most 16 levels of nesting')
      expect(() => parseJson('{"a":'.repeat(50_000))).toThrow(CodedError)
    })
    expect(seconds).toBeLessThan(1)
  })

  test('reads 256 KiB of small items at once', async () => {
    const text = `[${'1,'.repeat(130_000)}1]`
    const seconds = await cpuSeconds(() => expect(parseJson(text)).toHaveLength(130_001))
    expect(seconds).toBeLessThan(1)
  })
})

describe('a body', () => {
  const call = createClient(createFixture().app.handler)
  const post = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
    call('/v1/lending/aave-v3/batch', { key: 'good', method: 'POST', body, headers: { 'content-type': type } })

  test.each([['application/json'], ['application/json; charset=utf-8'], ['Application/JSON']])(
    'may be %s',
    async (type) => {
      expect((await post(`{"wallets":["${WALLET}"]}`, type)).status).toBe(200)
    },
  )

  test.each([
    ['nothing', '', 'INVALID_REQUEST', 'Cannot read the body: expected JSON, it is empty'],
    ['no JSON', '{', 'INVALID_REQUEST', 'Cannot read the body: expected JSON'],
    ['a list', '[]', 'INVALID_REQUEST', 'Cannot read the body: expected a JSON object'],
    ['null', 'null', 'INVALID_REQUEST', 'Cannot read the body: expected a JSON object'],
    ['no field', '{}', 'MISSING_PARAMETER', 'Parameter "wallets" is missing: expected a list of wallets'],
    [
      'null in a field',
      '{"wallets":null}',
      'INVALID_PARAMETER',
      'Cannot read parameter "wallets": expected a list of wallets, got null',
    ],
    [
      'an empty list',
      '{"wallets":[]}',
      'INVALID_PARAMETER',
      'Cannot read parameter "wallets": expected at least one wallet, got a list',
    ],
    [
      'a number in the list',
      '{"wallets":[5]}',
      'INVALID_PARAMETER',
      'Cannot read parameter "wallets[0]": expected an EVM address, 0x and 40 hexadecimal digits, got 5',
    ],
    [
      'an unknown field',
      `{"wallets":["${WALLET}"],"wallet":1}`,
      'INVALID_PARAMETER',
      'Unknown field "wallet": did you mean "wallets"?',
    ],
    [
      'half a character',
      '{"wallets":["\\ud800"]}',
      'INVALID_PARAMETER',
      'Cannot read parameter "wallets[0]": expected text without NUL, in whole characters',
    ],
    [
      'NUL deep inside',
      '{"wallets":[{"a":{"b":"\\u0000"}}]}',
      'INVALID_PARAMETER',
      'Cannot read parameter "wallets[0][a][b]": expected text without NUL, in whole characters',
    ],
    ['NUL in a name', '{"wal\\u0000lets":[]}', 'INVALID_PARAMETER', undefined],
  ])('of %s is refused', async (_name, body, code, message) => {
    const answer = await post(body)
    expect([answer.status, answer.body.error.code]).toEqual([400, code])
    if (message !== undefined) expect(answer.body.error.message).toBe(message)
  })

  test.each([
    ['as it is', '__proto__'],
    ['with an escape', '\\u005f_proto__'],
  ])('may not have a field __proto__, written %s', async (_name, key) => {
    const answer = await post(`{"wallets":["${WALLET}"],"${key}":{"wallets":[]}}`)
    expect([answer.status, answer.body.error]).toMatchObject([
      400,
      {
        code: 'INVALID_PARAMETER',
        message: 'Unknown field "__proto__": the fields are "wallets"',
      },
    ])
    expect((await post(`{"${key}":{"wallets":["${WALLET}"]}}`)).body.error.code).toBe('MISSING_PARAMETER')
  })

  test('that repeats a field is read by its last value', async () => {
    expect((await post(`{"wallets":[],"wallets":["${WALLET}"]}`)).body.data).toEqual([WALLET])
    expect((await post(`{"wallets":["${WALLET}"],"w\\u0061llets":[]}`)).status).toBe(400)
  })

  test.each([
    ['UTF-16', new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0])],
    ['Latin-1', new Uint8Array([0x22, 0xe9, 0x22])],
    ['a UTF-8 byte order mark', new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
    ['an overlong NUL', new Uint8Array([0x22, 0xc0, 0x80, 0x22])],
  ])('in %s is refused', async (_name, body) => {
    const answer = await post(body)
    expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each([['text/plain'], ['application/x-www-form-urlencoded'], ['application/jsonx']])(
    'of type %s is refused',
    async (type) => {
      const answer = await post('{}', type)
      expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
    },
  )
})
