//! Random objects of every built-in kind go through protobuf and come back as they were.

use pilothouse_value::{Gvk, Map, Timestamp, Value, json};
use proptest::prelude::*;

use crate::builtin::types::{self, Form, PropsOr, TypeDef};

/// Numbers that follow from a seed; splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn text(&mut self) -> String {
        ["", "a", "b-c", "ä\n\"", "web.example.com/x"][self.below(5) as usize].to_owned()
    }

    fn int(&mut self, bits: u32) -> i64 {
        let size = 1 + self.below(u64::from(bits) - 1) as u32;
        let number = self.below(1 << size) as i64;
        if self.below(2) == 0 { number } else { -number }
    }

    fn object(&mut self, def: &'static TypeDef, depth: u64) -> Map {
        let mut map = Map::new();
        for field in &def.fields {
            // What protobuf does not carry is what an object is, which only the envelope says.
            if !field.tags.is_empty() && self.below(2 + depth * depth) < 2 {
                map.insert(field.name, self.value(&field.form, depth + 1));
            }
        }
        map
    }

    fn value(&mut self, form: &Form, depth: u64) -> Value {
        match form {
            Form::String => self.text().into(),
            Form::Bool => Value::Bool(self.below(2) == 1),
            Form::Int32 => Value::Int(self.int(31)),
            Form::Int64 => Value::Int(self.int(62)),
            Form::Double => match self.below(2) {
                0 => Value::Int(self.int(30)),
                _ => Value::Float(self.int(30) as f64 + 0.25),
            },
            Form::Bytes => ["", "YQ==", "AP8="][self.below(3) as usize].into(),
            Form::Time => Timestamp::from_unix_seconds(self.int(32)).to_string().into(),
            Form::MicroTime => Timestamp::from_unix_seconds(self.int(32))
                .plus(std::time::Duration::from_micros(self.below(1_000_000)))
                .micro()
                .into(),
            Form::Duration => Value::Null,
            Form::Quantity => ["0", "100m", "1Gi", "-3", "1500u"][self.below(5) as usize].into(),
            Form::IntOrString if self.below(2) == 0 => self.text().into(),
            Form::IntOrString => Value::Int(self.int(31)),
            Form::Raw | Form::Fields => json!({"f:a": {"f:b": {}}, "n": self.int(40)}),
            Form::Json => [json!({"a": [1, null, "b"]}), json!(true), json!(1.5), json!("x")]
                [self.below(4) as usize]
                .clone(),
            Form::PropsOr(PropsOr::Bool) if self.below(2) == 0 => Value::Bool(self.below(2) == 1),
            Form::PropsOr(PropsOr::Strings) => json!(["a", "b"]),
            Form::PropsOr(PropsOr::Array) if self.below(2) == 0 => json!([{"type": "string"}, {}]),
            Form::PropsOr(_) => json!({"type": "integer"}),
            Form::Ref(id) => Value::Object(self.object(id.def(), depth)),
            Form::List(item) | Form::WrappedList(item) => {
                // Protobuf knows no empty list.
                (0..1 + self.below(2)).map(|_| self.value(item, depth)).collect()
            }
            Form::Map(item) => {
                Value::Object((0..self.below(3)).map(|_| (self.text(), self.value(item, depth))).collect())
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_kind_comes_back_from_protobuf_as_it_was(seed in any::<u64>()) {
        let mut random = Random(seed);
        let mut kinds = 0;
        for gvk in types::kinds() {
            let Some(def) = types::kind(&gvk) else { continue };
            let mut value = Value::Object(random.object(def, 0));
            value.set(&["kind"], gvk.kind.as_str());
            value.set(&["apiVersion"], gvk.api_version());
            crate::builtin::decode(&gvk, &mut value).unwrap();
            if crate::builtin::tells_empty(&gvk) {
                // Of what is empty protobuf tells only bytes.
                let empties = crate::builtin::take_empties(&gvk, &mut value);
                crate::builtin::put_bundles(&mut value, &empties.bundles);
            }
            let bytes = super::encode(&value).unwrap();
            let (found, mut back) = super::decode(&bytes).unwrap();
            prop_assert_eq!(&found, &gvk);
            crate::builtin::decode(&Gvk::of(&value).unwrap(), &mut back).unwrap();
            prop_assert_eq!(back.to_json(), value.to_json());
            kinds += 1;
        }
        prop_assert!(kinds > 150, "{} kinds", kinds);
    }
}
