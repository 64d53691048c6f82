/** How a cassette is used. */
export type Mode = 'once' | 'new' | 'all' | 'none' | 'passthrough';

export interface Options {
  /** The cassette to record to, and to be answered from. */
  cassette: string;
  /** `none` if the variable `CI` is set, else `once`. */
  mode?: Mode;
  /** Further options of `metroon record`, such as `--ignore-query=nonce`. */
  options?: string[];
  /** Whether it is well if nothing is asked. Otherwise `stop()` fails then. */
  allowEmpty?: boolean;
  /** The program: `METROON`, else `metroon`. */
  command?: string;
}

export interface Metroon {
  /** The URL of the proxy. */
  proxy: string;
  /** Its certificate, a file. */
  ca: string;
  /** Its certificate and those that the system trusts, a file. */
  bundle: string;
  /** What programs are told; `process.env` has it until the proxy is stopped. */
  env: Record<string, string>;
  /** Seals the cassette. Fails if a request had no answer, with the nearest recorded one and what differs, and if there was no request. */
  stop(): Promise<string>;
}

/** Starts a proxy for a cassette; requests of this process and of programs that it starts go through it until it is stopped. */
export function startMetroon(options: Options): Promise<Metroon>;
