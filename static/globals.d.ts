// The names by which the scripts of a page find each other, and those that the build sets.
// Only `make lint` reads this file.

type Choices = Record<string, string[]>;

declare const KNOWN: Choices;
declare const Reveal: any;
declare const RevealNotes: any;
declare const module: any;

declare function bookApplyChoices(): void;
declare function bookChange(element: Element, change: () => void): void;
declare function bookChoose(axis: string, value: string, move?: boolean): void;
declare function bookKeep(key: string, value: string | null): void;
declare function bookKept(key: string): string | null;
declare function bookLoad(file: string): Promise<void>;
declare function bookPrepare(within: Element): void;
declare function bookTarget(hash: string): Element | null;
declare const bookGuess: {
  KINDS: Map<string, number>[];
  RIGHT: number;
  CLOSE: number;
  factorOf(a: number, b: number): number;
  read(text: string, unit: string, question?: string): { value?: Answer; words?: string; problem?: string };
  verdict(value: Answer, arithmetic: Answer, output: Answer, name?: string, varies?: boolean): string;
  readFor(row: HTMLElement, asked: HTMLElement, text?: string): { value?: Answer; words?: string; problem?: string };
  textsOf(form: HTMLFormElement): string[];
  compare(asked: HTMLElement, rows: HTMLElement[], texts: string[]): Compared[];
  enter(compared: Compared): void;
};
declare const bookSketch: { show(prediction: HTMLElement, compared: Compared[]): void };
declare function bookTally(numbers: Compared[], erase: () => void): void;
declare const bookRecord: {
  forget(keys: string[]): void;
  show(answers: [string, string, Compared[]][]): void;
};
declare const bookCompare: { toggle(): void; toggleDifferences(): void };
declare var bookSearch: { open(loaded: Promise<unknown>, words?: string): void };
declare var bookExplorables: Record<string, (figure: Element) => void>;
declare var bookModules: Record<string, any>;
declare var bookPreviews: any;
declare var bookSearchData: string;
declare var bookSearchEngine: (json: string) => (request: any) => any;
declare var bookSolutions: Record<string, string>;
declare var bookAnswers: string;
declare function bookSolve(link: HTMLAnchorElement): Promise<void>;
declare function bookExercise(form: HTMLFormElement): Promise<void>;

type Answer = any; // a number, or the words of a choice

interface Compared { value?: Answer; words?: string; arithmetic?: Answer; output?: Answer; name: string; varies: boolean; row: HTMLElement }

interface Window {
  bookTally: typeof bookTally;
  bookApplyChoices: () => void;
  bookSearch: typeof bookSearch;
}

interface DocumentEventMap {
  "book:choice": CustomEvent<{ axis: string; value: string }>;
  "book:added": CustomEvent<Element>;
}

declare module "node:fs";
