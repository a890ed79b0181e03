/** Text that is HTML already, made by `html`, which escapes whatever else it is given; the page's style is ours as it is. */
export interface Html {
  readonly markup: string
}

/** What a page may be made of: HTML goes in as it is, text and numbers escaped, lists one after another. */
export type Content = Html | string | number | readonly Content[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A piece of a page. Every value is escaped for text and for quoted attributes, except HTML. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return { markup: parts.reduce((text, part, index) => text + rendered(values[index - 1] ?? '') + part) }
}

/** The pieces with `separator` between them. */
export function joined(pieces: readonly Content[], separator: string): Content {
  return pieces.flatMap((piece, index) => (index === 0 ? [piece] : [separator, piece]))
}

/** A sentence of the document; what stands in backticks is set as code. */
export function prose(text: string): Content {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))
}

function rendered(content: Content): string {
  if (typeof content === 'string') return content.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? '')
  if (typeof content === 'number') return String(content)
  return 'markup' in content ? content.markup : content.map(rendered).join('')
}
