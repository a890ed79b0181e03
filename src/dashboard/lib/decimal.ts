/**
 * Formats decimal strings of the API. `Intl` reads the digits without floating point and rounds half away from zero.
 */

/** No-break space between a number and its unit. */
const GAP = '\u00a0'
const DECIMAL = /^-?\d+(\.\d+)?$/

/** Dollars and cents. */
const cents = createFormatter({ style: 'currency', currency: 'USD' })
/** Truncates instead of rounding. */
const powers = createFormatter({ notation: 'scientific', ...toFractionDigits(2), roundingMode: 'trunc' })
const micros = new Intl.NumberFormat('en', { useGrouping: false, signDisplay: 'negative', ...toFractionDigits(6) })

/** Formats a whole number with its digits in groups of three and a typographic minus sign. */
export const formatThousands: (text: string) => string = createFormatter({ maximumFractionDigits: 0 })

/** Creates a function that formats decimals and returns other text unchanged. */
function createFormatter(options: Intl.NumberFormatOptions) {
  const { format } = new Intl.NumberFormat('en', { signDisplay: 'negative', ...options })
  return (text: string) => (DECIMAL.test(text) ? format(text as `${number}`).replace('-', '−') : text)
}

/** Options for a fixed number of fraction digits. */
function toFractionDigits(digits: number) {
  return { minimumFractionDigits: digits, maximumFractionDigits: digits }
}

/** Rounds to `digits` significant digits, but keeps the whole integer part; without trailing zeros. */
export function formatSignificant(text: string, digits: number = 6) {
  if (/^-?(\d{16}|0\.0{10,}[1-9])/.test(text)) return formatPowerOfTen(text)
  const options = { maximumSignificantDigits: digits, maximumFractionDigits: 0 }
  return createFormatter({ ...options, roundingPriority: 'morePrecision' })(text)
}

function formatPowerOfTen(text: string) {
  const [factor, exponent = ''] = powers(text).split('E')
  const raised = [...exponent].map((digit) => RAISED[digit]).join('')
  return `${factor}${GAP}×${GAP}10${raised}`
}

const RAISED: Record<string, string> = {
  '-': '⁻',
  '−': '⁻',
  0: '⁰',
  1: '¹',
  2: '²',
  3: '³',
  4: '⁴',
  5: '⁵',
  6: '⁶',
  7: '⁷',
  8: '⁸',
  9: '⁹',
}

/** Formats dollars and cents; below a cent, two significant digits. */
export function formatDollars(text: string) {
  const shown = cents(text)
  if (!hasVanished(text, shown)) return shown
  return `${text.startsWith('-') ? '−' : ''}$${formatSignificant(text.replace('-', ''), 2)}`
}

/** Returns true if rounding turned a non-zero figure into zero. */
function hasVanished(text: string, shown: string) {
  return /[1-9]/.test(text) && !/[1-9]/.test(shown)
}

/** Formats dollars with a plus or minus sign, for gains and losses. */
export function formatSignedDollars(text: string) {
  return isPositive(text) ? `+${formatDollars(text)}` : formatDollars(text)
}

/** Formats a ratio such as `0.03450000` as percent. */
export const formatRatioAsPercent = createPercentFormatter({ style: 'percent' })

/** Formats percent with two fraction digits, or four if two would show zero. */
export const formatPercent = createPercentFormatter({ style: 'unit', unit: 'percent' })

function createPercentFormatter(options: Intl.NumberFormatOptions) {
  return (text: string, digits = 2) => {
    const short = createFormatter({ ...options, ...toFractionDigits(digits) })(text)
    const shown = hasVanished(text, short) ? createFormatter({ ...options, ...toFractionDigits(4) })(text) : short
    return shown.replace('%', `${GAP}%`)
  }
}

/** True for a decimal below zero: `-0.00` is not. */
export function isNegative(text: string) {
  return text.startsWith('-') && /[1-9]/.test(text)
}

/** True for a decimal above zero. */
export function isPositive(text: string) {
  return !text.startsWith('-') && /[1-9]/.test(text)
}

/** Sums US dollar figures exactly, with six fraction digits. */
export function sumDollars(texts: readonly string[]) {
  const decimals = texts.filter((text) => DECIMAL.test(text)) as `${number}`[]
  const total = decimals.reduce((sum, text) => sum + BigInt(micros.format(text).replace('.', '')), 0n)
  return micros.format(`${total}e-6` as `${number}`)
}
