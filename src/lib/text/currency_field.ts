const USD_FIELD = /^(?:(.+)_)?usd$/

/** Names the field that tells in a currency what another tells in US dollars: `value_eur`; undefined for other fields. */
export function toCurrencyField(name: string, currency: string): string | undefined {
  const found = USD_FIELD.exec(name)
  if (found === null) return undefined
  const code = currency.toLowerCase()
  return found[1] === undefined ? code : `${found[1]}_${code}`
}
