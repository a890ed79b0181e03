/**
 * Decimal strings of the API as text for people. `Intl` reads their digits: nothing here passes through floating point,
 * and what is shown is the figure itself, rounded half away from zero.
 */

/** Keeps a number and its unit on one line. */
const GAP = '\u00a0'
const DECIMAL = /^-?\d+(\.\d+)?$/

/** Dollars and cents. */
const cents = formatter({ style: 'currency', currency: 'USD' })
/** Cut, not rounded. */
const powers = formatter({ notation: 'scientific', ...fixed(2), roundingMode: 'trunc' })
const micros = new Intl.NumberFormat('en', { useGrouping: false, signDisplay: 'negative', ...fixed(6) })

/**
 * Digits of a whole number in groups of three; the minus sign as a minus sign.
 * @type {(text: string) => string}
 */
export const formatThousands = formatter({ maximumFractionDigits: 0 })

/** Writes decimals; other text as it is. @param {Intl.NumberFormatOptions} options */
function formatter(options) {
  const { format } = new Intl.NumberFormat('en', { signDisplay: 'negative', ...options })
  return (/** @type {string} */ text) =>
    DECIMAL.test(text) ? format(/** @type {`${number}`} */ (text)).replace('-', '−') : text
}

/** As many digits after the point. @param {number} digits */
function fixed(digits) {
  return { minimumFractionDigits: digits, maximumFractionDigits: digits }
}

/**
 * To `digits` significant digits, but never less than the integer part has; trailing zeros go.
 * @param {string} text
 * @param {number} [digits]
 */
export function formatSignificant(text, digits = 6) {
  if (/^-?(\d{16}|0\.0{10,}[1-9])/.test(text)) return powerOfTen(text)
  const options = { maximumSignificantDigits: digits, maximumFractionDigits: 0 }
  return formatter({ ...options, roundingPriority: 'morePrecision' })(text)
}

/** @param {string} text */
function powerOfTen(text) {
  const [factor, exponent = ''] = powers(text).split('E')
  const raised = [...exponent].map((digit) => RAISED[digit]).join('')
  return `${factor}${GAP}×${GAP}10${raised}`
}

/** @type {Record<string, string>} */
const RAISED = { '-': '⁻', '−': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' }

/**
 * Dollars and cents; below a cent, two significant digits.
 * @param {string} text
 */
export function formatDollars(text) {
  const shown = cents(text)
  if (!hasVanished(text, shown)) return shown
  return `${text.startsWith('-') ? '−' : ''}$${formatSignificant(text.replace('-', ''), 2)}`
}

/** True if nothing is left of a figure. @param {string} text @param {string} shown */
function hasVanished(text, shown) {
  return /[1-9]/.test(text) && !/[1-9]/.test(shown)
}

/**
 * Dollars with the sign said, for gains and losses.
 * @param {string} text
 */
export function formatSignedDollars(text) {
  return isPositive(text) ? `+${formatDollars(text)}` : formatDollars(text)
}

/** A ratio such as `0.03450000` as percent. */
export const formatRatioAsPercent = percentBy({ style: 'percent' })

/** Percent with two digits; a small one with as many as show its first two. */
export const formatPercent = percentBy({ style: 'unit', unit: 'percent' })

/** @param {Intl.NumberFormatOptions} options */
function percentBy(options) {
  return (/** @type {string} */ text, digits = 2) => {
    const short = formatter({ ...options, ...fixed(digits) })(text)
    const shown = hasVanished(text, short) ? formatter({ ...options, ...fixed(4) })(text) : short
    return shown.replace('%', `${GAP}%`)
  }
}

/** @param {string} text */
export function isNegative(text) {
  return text.startsWith('-') && /[1-9]/.test(text)
}

/** @param {string} text */
export function isPositive(text) {
  return !text.startsWith('-') && /[1-9]/.test(text)
}

/**
 * The exact sum of US dollar figures, with six digits.
 * @param {readonly string[]} texts
 */
export function sumDollars(texts) {
  const decimals = /** @type {`${number}`[]} */ (texts.filter((text) => DECIMAL.test(text)))
  const total = decimals.reduce((sum, text) => sum + BigInt(micros.format(text).replace('.', '')), 0n)
  return micros.format(/** @type {`${number}`} */ (`${total}e-6`))
}
