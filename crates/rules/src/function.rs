//! Every function of the expression language, in one table.

use crate::ValueType;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo {
    /// The function.
    pub function: Function,
    /// Its name in expressions.
    pub name: &'static str,
    /// Parameter types; the last parameter may repeat if `variadic`.
    pub parameters: &'static [ValueType],
    /// Number of required parameters.
    pub required: usize,
    /// Whether the last parameter may be given any number of times.
    pub variadic: bool,
    /// Whether parameters of type bytes accept any type, converted to text.
    pub converts: bool,
    /// Type of the result.
    pub returns: ValueType,
    /// Description, in a sentence.
    pub doc: &'static str,
}

macro_rules! functions {
    ($($id:ident $name:literal [$($param:ident)*] $required:literal $variadic:literal $converts:literal $returns:ident $doc:literal;)*) => {
        /// A function that expressions can apply to values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Function { $(#[doc = $doc] $id,)* }

        /// The table, in the order of [`Function`].
        pub const FUNCTIONS: &[FunctionInfo] = &[$(FunctionInfo {
            function: Function::$id, name: $name, parameters: &[$(ValueType::$param,)*], required: $required,
            variadic: $variadic, converts: $converts, returns: ValueType::$returns, doc: $doc,
        },)*];
    };
}

functions! {
    Lower "lower" [Bytes] 1 false false Bytes "ASCII letters in lower case.";
    Upper "upper" [Bytes] 1 false false Bytes "ASCII letters in upper case.";
    Len "len" [Bytes] 1 false false Int "Length in bytes.";
    StartsWith "starts_with" [Bytes Bytes] 2 false false Bool "Whether the first argument begins with the second.";
    EndsWith "ends_with" [Bytes Bytes] 2 false false Bool "Whether the first argument ends with the second.";
    UrlDecode "url_decode" [Bytes] 1 false false Bytes "Percent-decoded once, plus signs as spaces; broken sequences stay as they are.";
    RemoveSpaces "remove_spaces" [Bytes] 1 false false Bytes "Without ASCII white space.";
    Concat "concat" [Bytes] 1 true true Bytes "All arguments joined; integers and addresses are written as text.";
    Substring "substring" [Bytes Int Int] 2 false false Bytes "Bytes from start to end (exclusive; to the last byte if not given); negative positions count from the end.";
    ToString "to_string" [Bytes] 1 false true Bytes "The value as text; takes any type.";
    DecodeBase64 "decode_base64" [Bytes] 1 false false Bytes "Base64-decoded; empty if it is not Base64.";
    Cidr "cidr" [Ip Int Int] 3 false false Ip "The address with all bits but the first n zero: n is the second argument for IPv4, the third for IPv6.";
}

impl Function {
    /// The function's row in the table.
    #[must_use]
    pub fn info(self) -> &'static FunctionInfo {
        &FUNCTIONS[self as usize]
    }

    /// The function called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<&'static FunctionInfo> {
        FUNCTIONS.iter().find(|row| row.name == name)
    }
}

impl FunctionInfo {
    /// The signature: `substring(string, integer[, integer])`.
    #[must_use]
    pub fn signature(&self) -> String {
        let mut out = format!("{}(", self.name);
        for (at, parameter) in self.parameters.iter().enumerate() {
            let word = match parameter {
                ValueType::Bytes if self.converts => "any",
                ValueType::Bytes => "string",
                ValueType::Int => "integer",
                ValueType::Bool => "boolean",
                ValueType::Ip => "address",
            };
            let comma = if at == 0 { "" } else { ", " };
            if at < self.required {
                out.push_str(comma);
                out.push_str(word);
            } else {
                out.push_str(&format!("[{comma}{word}]"));
            }
        }
        if self.variadic {
            out.push_str(", ...");
        }
        out.push(')');
        out
    }
}
