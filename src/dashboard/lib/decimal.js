/**
 * Decimal strings of the API as text for people. Nothing here passes through floating point: what is shown is the
 * figure itself, rounded half away from zero.
 */

/** Keeps a number and its unit on one line. */
const GAP = '\u00a0'
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/**
 * Sign, integer digits and fraction digits.
 * @param {string} text
 */
function parts(text) {
  const match = DECIMAL.exec(text)
  return match === null ? undefined : { negative: match[1] === '-', whole: match[2], fraction: match[3] ?? '' }
}

/**
 * `text` rounded to `digits` after the point, half away from zero.
 * @param {string} text
 * @param {number} digits
 */
function rounded(text, digits) {
  const found = parts(text)
  if (found === undefined) return text
  const scaled = BigInt(found.whole + found.fraction.slice(0, digits).padEnd(digits, '0'))
  const up = (found.fraction[digits] ?? '0') >= '5' ? 1n : 0n
  const all = String(scaled + up).padStart(digits + 1, '0')
  const whole = all.slice(0, all.length - digits)
  const fraction = digits === 0 ? '' : `.${all.slice(-digits)}`
  const sign = found.negative && /[1-9]/.test(all) ? '-' : ''
  return `${sign}${whole}${fraction}`
}

/**
 * Digits of the integer part in groups of three; the minus sign as a minus sign.
 * @param {string} text
 */
export function grouped(text) {
  const [whole = '', fraction] = text.split('.')
  const apart = whole.replace('-', '−').replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? apart : `${apart}.${fraction}`
}

/**
 * To `digits` significant digits, but never less than the integer part has; trailing zeros go.
 * @param {string} text
 * @param {number} [digits]
 */
export function significant(text, digits = 6) {
  const found = parts(text)
  if (found === undefined) return text
  if (found.whole.length > 15) return powerOfTen(found)
  const leading = found.whole === '0' ? (/^0*/.exec(found.fraction)?.[0].length ?? 0) : -found.whole.length
  if (found.whole === '0' && leading > 9 && /[1-9]/.test(found.fraction)) return powerOfTen(found)
  const short = rounded(text, Math.max(0, digits + leading))
  return grouped(short.includes('.') ? short.replace(/\.?0+$/, '') : short)
}

/** @param {{ negative: boolean, whole: string, fraction: string }} number */
function powerOfTen({ negative, whole, fraction }) {
  const digits = (whole + fraction).replace(/^0+/, '')
  const exponent = whole === '0' ? -(/^0*/.exec(fraction)?.[0].length ?? 0) - 1 : whole.length - 1
  const raised = [...String(exponent)].map((digit) => RAISED[digit]).join('')
  return `${negative ? '−' : ''}${digits[0]}.${digits.slice(1, 3).padEnd(2, '0')}${GAP}×${GAP}10${raised}`
}

/** @type {Record<string, string>} */
const RAISED = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' }

/**
 * Dollars and cents; below a cent, two significant digits.
 * @param {string} text
 */
export function dollars(text) {
  const found = parts(text)
  if (found === undefined) return text
  const nothing = !/[1-9]/.test(found.whole + found.fraction)
  const cents = rounded(text, 2)
  const tiny = !nothing && !/[1-9]/.test(cents)
  const short = tiny ? `${found.negative ? '-' : ''}${significant(text.replace('-', ''), 2)}` : cents
  const shown = grouped(short)
  return shown.startsWith('−') ? `−$${shown.slice(1)}` : `$${shown}`
}

/**
 * Dollars with the sign said, for gains and losses.
 * @param {string} text
 */
export function signedDollars(text) {
  return isPositive(text) ? `+${dollars(text)}` : dollars(text)
}

/**
 * A ratio such as `0.03450000` as percent.
 * @param {string} text
 * @param {number} [digits]
 */
export function percentOfRatio(text, digits = 2) {
  const found = parts(text)
  if (found === undefined) return text
  const digitsAll = found.fraction.padEnd(2, '0')
  const moved = `${found.whole}${digitsAll.slice(0, 2)}`.replace(/^0+(?=\d)/, '')
  return percent(`${found.negative ? '-' : ''}${moved}.${digitsAll.slice(2) || '0'}`, digits)
}

/**
 * Percent with two digits; a small one with as many as show its first two.
 * @param {string} text
 * @param {number} [digits]
 */
export function percent(text, digits = 2) {
  const short = rounded(text, digits)
  const vanished = !/[1-9]/.test(short) && /[1-9]/.test(text)
  return `${grouped(vanished ? rounded(text, 4) : short)}${GAP}%`
}

/** @param {string} text */
export function isNegative(text) {
  return text.startsWith('-') && /[1-9]/.test(text)
}

/** @param {string} text */
export function isPositive(text) {
  return !text.startsWith('-') && /[1-9]/.test(text)
}

const MICRO_DIGITS = 6

/**
 * The exact sum of US dollar figures, with six digits.
 * @param {readonly string[]} texts
 */
export function sumDollars(texts) {
  const total = texts.reduce((sum, text) => sum + microDollars(text), 0n)
  const digits = String(total < 0n ? -total : total).padStart(MICRO_DIGITS + 1, '0')
  return `${total < 0n ? '-' : ''}${digits.slice(0, -MICRO_DIGITS)}.${digits.slice(-MICRO_DIGITS)}`
}

/** @param {string} text */
function microDollars(text) {
  const found = parts(rounded(text, MICRO_DIGITS))
  if (found === undefined) return 0n
  const value = BigInt(found.whole + found.fraction)
  return found.negative ? -value : value
}
