import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import {
  choice,
  configuredChainId,
  evmAddress,
  flag,
  instantFrom,
  instantTo,
  limit,
  moment,
  noMoment,
  page,
  shortText,
  targetHealthFactor,
  tokenId,
} from '../../../../src/http/request/input.ts'
import { type RawInput, readParameters, validateInput } from '../../../../src/http/request/parameters.ts'
import { CodedError } from '../../../../src/lib/error.ts'
import { cpuSeconds } from '../../../support/cpu.ts'

const CHECKSUMMED = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'

/** Reads and checks parameters, as the app does. */
function parseInput<Input>(schema: v.GenericSchema<unknown, Input>, raw: RawInput): Input {
  return validateInput(schema, readParameters(schema, raw))
}

/** The value of a parameter named `x`, or the code and message that refuse it. */
function read(schema: v.GenericSchema<unknown, unknown>, text: string): unknown {
  return outcome(() => {
    const input = parseInput(v.object({ x: schema }), { params: {}, query: `x=${encodeURIComponent(text)}` })
    return input.x
  })
}

function outcome(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    if (error instanceof CodedError) return `${error.code}: ${error.message}`
    throw error
  }
}

describe('evmAddress', () => {
  test.each([[CHECKSUMMED], [CHECKSUMMED.toLowerCase()], [`0x${CHECKSUMMED.slice(2).toUpperCase()}`]])(
    '%p becomes checksummed',
    (text) => {
      expect(read(evmAddress, text)).toBe(CHECKSUMMED)
    },
  )

  test.each([
    ['39 digits', CHECKSUMMED.slice(0, -1)],
    ['41 digits', `${CHECKSUMMED}0`],
    ['no prefix', CHECKSUMMED.slice(2)],
    ['a capital X', CHECKSUMMED.replace('0x', '0X')],
    ['a wrong checksum', CHECKSUMMED.replace('d8dA', 'D8da')],
    ['a name', 'vitalik.eth'],
    ['a Solana address', '7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs'],
    ['a homoglyph', CHECKSUMMED.replace('a', 'а')],
    ['a trailing newline', `${CHECKSUMMED}\n`],
    ['a mark that turns the text around', `\u202e${CHECKSUMMED}`],
  ])('refuses %s', (_name, text) => {
    expect(read(evmAddress, text)).toStartWith('INVALID_PARAMETER: Cannot read parameter "x": expected an EVM address')
  })
})

describe('page and limit', () => {
  test('are 1 and 10 if absent or empty', () => {
    expect(parseInput(v.object({ page, limit }), { params: {}, query: '' })).toEqual({ page: 1, limit: 10 })
    expect(parseInput(v.object({ page, limit }), { params: {}, query: 'page=&limit=' })).toEqual({ page: 1, limit: 10 })
  })

  test.each([['1'], ['25'], ['7']])('take %p', (text) => {
    expect(read(page, text)).toBe(Number(text))
    expect(read(limit, text)).toBe(Number(text))
  })

  test('page goes to 1e9', () => {
    expect(read(page, '1000000000')).toBe(1e9)
    expect(read(page, '1000000001')).toStartWith('INVALID_PARAMETER')
  })

  test.each([
    ['0'],
    ['-1'],
    ['+1'],
    ['1.0'],
    ['1e3'],
    ['0x1'],
    [' 1'],
    ['1 '],
    ['01'],
    ['１'],
    ['NaN'],
    ['Infinity'],
    ['1e18'],
    ['9007199254740993'],
    ['99999999999999999999'],
    ['1_0'],
    ['abc'],
    ['\n1'],
    ['1\n'],
  ])('refuse %p', (text) => {
    expect(read(page, text)).toStartWith('INVALID_PARAMETER: Cannot read parameter "x": expected a positive integer')
    expect(read(limit, text)).toStartWith(
      'INVALID_PARAMETER: Cannot read parameter "x": expected an integer from 1 to 25',
    )
  })

  test('limit ends at 25', () => {
    expect(read(limit, '26')).toBe(
      'INVALID_PARAMETER: Cannot read parameter "x": expected an integer from 1 to 25, got "26"',
    )
  })

  test('the message says what was sent', () => {
    expect(read(page, 'abc')).toBe(
      'INVALID_PARAMETER: Cannot read parameter "x": expected a positive integer, got "abc"',
    )
  })
})

describe('other schemas', () => {
  test('configuredChainId() accepts configured ids and lists them for others', () => {
    const chainId = configuredChainId([10, 1])
    expect(read(chainId, '10')).toBe(10)
    for (const text of ['0', '-1', '2147483648', '9007199254740993', 'mainnet', '01', '5']) {
      expect(read(chainId, text)).toBe(
        `INVALID_PARAMETER: Cannot read parameter "x": expected the id of a configured chain (1, 10), got "${text}"`,
      )
    }
    expect(read(configuredChainId([1], 'chain with a moon'), '10')).toContain(
      'expected the id of a chain with a moon (1), got',
    )
  })

  test('tokenId is a uint256 in plain digits', () => {
    const max = (2n ** 256n - 1n).toString()
    expect(read(tokenId, '0')).toBe(0n)
    expect(read(tokenId, max)).toBe(2n ** 256n - 1n)
    for (const text of [(2n ** 256n).toString(), '9'.repeat(80), '-1', '0x1', '007', '1.5', '']) {
      expect(read(tokenId, text)).toMatch(/^(INVALID|MISSING)_PARAMETER/)
    }
  })

  test('flag is true or false and nothing else', () => {
    expect(read(flag, 'true')).toBe(true)
    expect(read(flag, 'false')).toBe(false)
    for (const text of ['1', '0', 'TRUE', 'yes']) expect(read(flag, text)).toStartWith('INVALID_PARAMETER')
  })

  test('choice() names the words', () => {
    expect(read(choice(['a', 'b']), 'b')).toBe('b')
    expect(read(choice(['a', 'b']), 'c')).toBe(
      'INVALID_PARAMETER: Cannot read parameter "x": expected one of "a", "b", got "c"',
    )
    expect(read(choice(['inactive']), 'active')).toContain('expected "inactive" or nothing')
  })

  test('targetHealthFactor is above 1 and at most 100', () => {
    expect(read(targetHealthFactor, '1.000000000000000001')).toBe('1.000000000000000001')
    expect(read(targetHealthFactor, '100')).toBe('100')
    for (const text of ['0', '1', '1.0', '-1', 'NaN', '1e308', '1,5', '100.1', '1.', '.5', '01.5']) {
      expect(read(targetHealthFactor, text)).toStartWith('INVALID_PARAMETER')
    }
  })

  test('shortText() takes printable ASCII only', () => {
    expect(read(shortText(5), 'a b/c')).toBe('a b/c')
    for (const text of ['abcdef', 'é', '\u001b[1m', 'a\r\nb']) {
      expect(read(shortText(5), text)).toStartWith('INVALID_PARAMETER')
    }
  })
})

describe('instants', () => {
  test.each([
    ['2024-02-29', '2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999Z'],
    ['2024-02-29T01:02', '2024-02-29T01:02:00.000Z', '2024-02-29T01:02:00.000Z'],
    ['2024-02-29T01:02:03', '2024-02-29T01:02:03.000Z', '2024-02-29T01:02:03.000Z'],
    ['2024-02-29T01:02:03.5Z', '2024-02-29T01:02:03.500Z', '2024-02-29T01:02:03.500Z'],
    ['2024-02-29T01:02:03.123456789Z', '2024-02-29T01:02:03.123Z', '2024-02-29T01:02:03.123Z'],
    ['2024-03-01T01:00:00+02:00', '2024-02-29T23:00:00.000Z', '2024-02-29T23:00:00.000Z'],
    ['2024-02-29T23:30:00-01:30', '2024-03-01T01:00:00.000Z', '2024-03-01T01:00:00.000Z'],
    ['2024-01-01T00:00:00+14:00', '2023-12-31T10:00:00.000Z', '2023-12-31T10:00:00.000Z'],
  ])('%p', (text, from, to) => {
    expect(read(instantFrom, text)).toEqual(new Date(from))
    expect(read(instantTo, text)).toEqual(new Date(to))
  })

  test.each([
    ['2024-02-30'],
    ['2023-02-29'],
    ['2024-1-1'],
    ['2024-13-01'],
    ['2024-00-10'],
    ['2024-01-00'],
    ['1969-12-31'],
    ['+275760-09-13'],
    ['20240101'],
    ['2024-01-01T24:00'],
    ['2024-01-01T23:59:60Z'],
    ['2024-01-01T10:60Z'],
    ['2024-01-01 10:00'],
    ['2024-01-01T10'],
    ['2024-01-01t10:00z'],
    ['2024-01-01T10:00+14:01'],
    ['2024-01-01Z'],
    ['2024-01-01T10:00+2:00'],
    ['yesterday'],
    ['1700000000'],
    ['２０２４-01-01'],
  ])('refuses %p', (text) => {
    expect(read(instantFrom, text)).toStartWith('INVALID_PARAMETER')
    expect(read(instantTo, text)).toStartWith('INVALID_PARAMETER')
  })
})

describe('parseInput()', () => {
  const schema = v.object({ id: tokenId, page, wallet: evmAddress })
  const parse = (query: string, params: Record<string, string> = { id: '1' }) =>
    outcome(() => parseInput(schema, { params, query }))

  test('merges path and query, which must not repeat each other', () => {
    expect(parse(`wallet=${CHECKSUMMED}`)).toEqual({ id: 1n, page: 1, wallet: CHECKSUMMED })
    for (const twice of ['id=5', 'id=1', 'id=5&id=6', 'id=']) {
      expect(parse(`wallet=${CHECKSUMMED}&${twice}`)).toBe(
        'INVALID_PARAMETER: Cannot read parameter "id": expected it in the path alone',
      )
    }
  })

  test('a missing or empty required parameter is MISSING_PARAMETER', () => {
    const missing =
      'MISSING_PARAMETER: Parameter "wallet" is missing: expected an EVM address, 0x and 40 hexadecimal digits'
    expect(parse('')).toBe(missing)
    expect(parse('wallet=')).toBe(missing)
    expect(parse('wallet')).toBe(missing)
  })

  test('a repeated known parameter is refused, even with the same or an empty value', () => {
    const repeated = 'INVALID_PARAMETER: Cannot read parameter "page": expected it once, it is repeated'
    expect(parse(`wallet=${CHECKSUMMED}&page=1&page=1`)).toBe(repeated)
    expect(parse(`wallet=${CHECKSUMMED}&page=1&page=`)).toBe(repeated)
    expect(parse(`wallet=${CHECKSUMMED}&page=1&p%61ge=2`)).toBe(repeated)
  })

  test.each([
    ['walet=x', 'walet', 'did you mean "wallet"?'],
    ['Wallet=x', 'Wallet', 'did you mean "wallet"?'],
    ['apge=1', 'apge', 'did you mean "page"?'],
    ['page =1', 'page ', 'did you mean "page"?'],
    ['p%61gee', 'pagee', 'did you mean "page"?'],
    ['pages=', 'pages', 'did you mean "page"?'],
    ['a=1&a=2', 'a', 'this route takes "page", "wallet"'],
    ['=1', '', 'this route takes "page", "wallet"'],
    ['__proto__=x', '__proto__', 'this route takes "page", "wallet"'],
    ['constructor=x', 'constructor', 'this route takes "page", "wallet"'],
    ['utm_source=x&page=0', 'utm_source', 'this route takes "page", "wallet"'],
  ])('an unknown parameter is refused, and the nearest one named: %s', (query, name, instead) => {
    const refused = `INVALID_PARAMETER: Unknown parameter "${name}": ${instead}`
    expect(parse(`${query}&wallet=${CHECKSUMMED}`)).toBe(refused)
    expect(parse(`wallet=${CHECKSUMMED}&${query}`)).toBe(refused)
  })

  test('a parameter with a reason to be refused is refused with it, and never suggested', () => {
    const solana = v.object({ page, ...noMoment })
    const read = (query: string) => outcome(() => parseInput(solana, { params: {}, query }))
    expect(read('page=2')).toMatchObject({ page: 2 })
    for (const name of ['at_block', 'at_time']) {
      expect(read(`${name}=1`)).toBe(
        `INVALID_PARAMETER: Cannot read parameter "${name}": expected it for EVM chains only, ` +
          'because endpoints of Solana keep no past state',
      )
      expect(read(`${name}s=1`)).toEndWith('this route takes "page"')
    }
  })

  test('an at_time in milliseconds is refused with the reason and the text that was sent', () => {
    const read = (query: string) => outcome(() => parseInput(v.object(moment), { params: {}, query }))
    expect(read('at_time=1767225600000')).toBe(
      'INVALID_PARAMETER: Cannot read parameter "at_time": expected Unix seconds, this looks like milliseconds, ' +
        'got "1767225600000"',
    )
    expect(read('at_time=17672256000000')).toContain('expected Unix seconds, a date')
    expect(read('at_time=1767225600')).toMatchObject({ at_time: { sec: 1_767_225_600, sent: '1767225600' } })
    expect(read('at_time=2026-01-01')).toMatchObject({ at_time: { sec: 1_767_225_600, sent: '2026-01-01' } })
  })

  test.each([['%zz'], ['%'], ['%E0%A4%A'], ['%C0%AF'], ['%ED%A0%80'], ['%00'], ['a%00b']])(
    'refuses %p in the path, in a known and in an unknown parameter',
    (text) => {
      expect(parse(`wallet=${CHECKSUMMED}`, { id: text })).toStartWith('INVALID_PARAMETER: Cannot read parameter "id"')
      expect(parse(`wallet=${text}`)).toStartWith('INVALID_PARAMETER: Cannot read parameter "wallet"')
      expect(parse(`wallet=${CHECKSUMMED}&other=${text}`)).toStartWith('INVALID_PARAMETER')
    },
  )

  test('shows no more than 64 characters, and none that could forge a line', () => {
    const message = String(parse(`wallet=${encodeURIComponent(`${'x'.repeat(60)}\r\n\u001b\u202e${'y'.repeat(90)}`)}`))
    expect(message).toContain(`got "${'x'.repeat(60)}????…"`)
    expect(String(parse(`wallet=${CHECKSUMMED}&page=%0d%0aSet-Cookie:1`))).toContain('got "??Set-Cookie:1"')
  })

  test('takes 32 parameters, not 33, and values of at most 256 characters', () => {
    expect(parse(`wallet=${CHECKSUMMED}${'&a=1'.repeat(31)}`)).toContain('parameter "a"')
    expect(parse(`wallet=${CHECKSUMMED}${'&a=1'.repeat(32)}`)).toStartWith('INVALID_REQUEST')
    expect(parse(`wallet=${'a'.repeat(257)}`)).toContain('expected at most 256 characters')
    expect(parse(`wallet=${CHECKSUMMED}`, { id: '1'.repeat(257) })).toContain('expected at most 256 characters')
  })

  test('shows no more than 64 characters of a name', () => {
    expect(parse(`wallet=${CHECKSUMMED}&${'a'.repeat(4_000)}=1`)).toBe(
      `INVALID_PARAMETER: Unknown parameter "${'a'.repeat(64)}…": this route takes "page", "wallet"`,
    )
    expect(parse(`wallet=${CHECKSUMMED}&a%0db=1`)).toContain('parameter "a?b"')
  })

  test('mentions that a plus sign became a space if that may be the mistake', () => {
    const moment = v.object({ from: instantFrom })
    const read = (query: string) => outcome(() => parseInput(moment, { params: {}, query }))
    const hint = '; "+" in a query is a space, write %2B for a plus sign'
    expect(read('from=2026-01-01T00:00:00+02:00')).toBe(
      'INVALID_PARAMETER: Cannot read parameter "from": expected a date (YYYY-MM-DD) or an ISO 8601 timestamp, ' +
        `got "2026-01-01T00:00:00 02:00"${hint}`,
    )
    expect(read('from=2026-01-01T00:00:00%2B02:00')).toMatchObject({ from: new Date('2025-12-31T22:00:00Z') })
    expect(read('from=2026-01-01T00:00:00%2002:00')).not.toContain('%2B')
    expect(parse('wallet=1', { id: '+1' })).not.toContain('%2B')
  })

  test('refuses 8 KB of anything at once', async () => {
    const seconds = await cpuSeconds(() => {
      for (const text of ['0', '1', '9', '-', 'a', '2024-', '0x', '%30', '.']) {
        const long = text.repeat(8_000 / text.length)
        for (const schema of [evmAddress, page, tokenId, targetHealthFactor, instantFrom, shortText(64)]) {
          expect(outcome(() => parseInput(v.object({ x: schema }), { params: {}, query: `x=${long}` }))).toStartWith(
            'INVALID_PARAMETER',
          )
        }
      }
    })
    expect(seconds).toBeLessThan(1)
  })

  test('a check of several parameters together has its own sentence', () => {
    const both = v.pipe(
      v.object({ a: v.optional(flag), b: v.optional(flag) }),
      v.check(({ a, b }) => !(a === true && b === true), 'Cannot combine parameters "a" and "b"'),
    )
    expect(outcome(() => parseInput(both, { params: {}, query: 'a=true&b=true' }))).toBe(
      'INVALID_PARAMETER: Cannot combine parameters "a" and "b"',
    )
    expect(outcome(() => parseInput(both, { params: {}, query: 'a=true&a=true' }))).toContain('repeated')
  })
})
