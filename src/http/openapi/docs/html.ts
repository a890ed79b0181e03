/** Text that is HTML already: made by `html`, which escapes everything else, or the page's own style. */
export interface Html {
  readonly markup: string
}

/** Content of a page: HTML is kept, text and numbers are escaped, lists are joined. */
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

/** A sentence of the document; text in backticks becomes code. */
export function prose(text: string): Content {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))
}

function rendered(content: Content): string {
  if (typeof content === 'string') return content.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? '')
  if (typeof content === 'number') return String(content)
  return 'markup' in content ? content.markup : content.map(rendered).join('')
}
