/** The tool of a route, for agents. Routes of several protocols that answer one question share a tool. */
export interface ToolFacts {
  /** A verb and what it is about: `list_lending_positions`. Routes of one protocol each may have the same. */
  readonly name: string
  /** A name for people, of at most 48 characters. */
  readonly title: string
  /** What it reads, of every route that shares it. @default the summary of its route */
  readonly description?: string
  /** The protocol that the route reads: agents choose among those of their tool. */
  readonly protocol?: Protocol
  /** True for the one tool with which agents begin. */
  readonly isFirst?: true
}

/** A protocol as agents name it. */
interface Protocol {
  /** Path segment: `uniswap-v3`. */
  readonly code: string
  /** Its name for people, with the forks that it covers. */
  readonly name: string
}
